import { Head } from "../ui/parts";
import type { PageProps } from "../ui/routes";

export default function RunsPage({ params }: PageProps) {
  return <Head title={params.id ?? "Runs"} />;
}
