import { Head } from "../ui/parts";
import type { PageProps } from "../ui/routes";

export default function AgentPage({ params }: PageProps) {
  return <Head title={params.id ?? "Agent"} />;
}
