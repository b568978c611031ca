import { Head } from "../ui/parts";
import type { PageProps } from "../ui/routes";

export default function RunPage({ params }: PageProps) {
  return <Head title={params.id ?? "Run"} />;
}
