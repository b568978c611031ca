import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import "./act";
import "./pages";
import { Shell } from "./ui/Shell";
import "./ui/theme.css";
import "./ui/views.css";
import "./ui/page.css";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Shell />
  </StrictMode>,
);
