// The pages of lists, graphs and runs.  What acts on a run is registered in act.ts.
import { page } from "./ui/routes";

page("/workflows", { title: "Workflows", nav: 1, load: () => import("./graph/WorkflowsPage") });
page("/workflows/:id", { title: "Workflow", load: () => import("./graph/WorkflowPage") });
page("/agents", { title: "Agents", nav: 2, load: () => import("./graph/AgentsPage") });
page("/agents/:id", { title: "Agent", load: () => import("./graph/AgentPage") });
page("/runs", { title: "Runs", nav: 3, load: () => import("./run/RunsPage") });
page("/runs/:id", { title: "Run", load: () => import("./run/RunPage") });
