import { Head } from "../ui/parts";
import type { PageProps } from "../ui/routes";

export default function WorkflowsPage({ params }: PageProps) {
  return <Head title={params.id ?? "Workflows"} />;
}
