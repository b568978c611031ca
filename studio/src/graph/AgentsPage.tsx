import { Head } from "../ui/parts";
import type { PageProps } from "../ui/routes";

export default function AgentsPage({ params }: PageProps) {
  return <Head title={params.id ?? "Agents"} />;
}
