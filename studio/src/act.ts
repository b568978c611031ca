// What acts: forms, chat, answers, forks, comparisons.  Pages (ui/routes) and slots (ui/slots) are registered here.
import { ForkTree, hasFamily } from "./compare/ForkTree";
import { hasStream, StreamTab } from "./compare/StreamTab";
import { canFork, ForkSection } from "./forms/ForkSection";
import { AgainButton, CancelButton, isBrokenOff, isOver, RestartButton, SaveTestButton } from "./forms/RunActions";
import { RunTab } from "./forms/RunTab";
import { SuspendedPanel } from "./forms/SuspendedPanel";
import { ChatLink } from "./chat/ChatLink";
import { page } from "./ui/routes";
import { fill } from "./ui/slots";

page("/agents/:id/chat", { title: "Chat", load: () => import("./chat/ChatPage") });
page("/compare/runs", { title: "Compare runs", nav: 4, load: () => import("./compare/CompareRunsPage") });
page("/compare/graphs", { title: "Compare graphs", nav: 5, load: () => import("./compare/CompareGraphsPage") });
page("/open", { title: "Open a file", nav: 6, load: () => import("./compare/OpenPage") });

fill("workflow.tab", { id: "run", title: "Run it", component: RunTab, when: ({ workflow }) => workflow.kind !== "loop" });
fill("agent.action", { id: "chat", title: "Chat", component: ChatLink });
fill("run.banner", { id: "questions", title: "Questions", component: SuspendedPanel, when: ({ run }) => !run.offline && run.status === "suspended" });
fill("run.action", { id: "restart", title: "Restart", component: RestartButton, when: ({ run }) => !run.offline && isBrokenOff(run) });
fill("run.action", { id: "cancel", title: "Cancel", component: CancelButton, when: ({ run }) => !run.offline && !isOver(run) });
fill("run.action", { id: "again", title: "Run again", component: AgainButton, when: ({ run }) => !run.offline && (isOver(run) || run.status === "suspended") });
fill("run.action", { id: "test", title: "Save as test", component: SaveTestButton, when: ({ run }) => !run.offline && isOver(run) });
fill("run.tab", { id: "stream", title: "Stream", component: StreamTab, when: hasStream });
fill("run.tab", { id: "forks", title: "Forks", component: ForkTree, when: hasFamily });
fill("node.section", { id: "fork", title: "Time travel", component: ForkSection, when: canFork });
