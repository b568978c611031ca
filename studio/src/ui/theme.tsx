// Light and dark: what the system says, or what was chosen here.
import { useEffect, useState } from "react";

type Theme = "system" | "light" | "dark";
const KEY = "procession.theme";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function kept(): Theme {
  const value = localStorage.getItem(KEY);
  return value === "light" || value === "dark" ? value : "system";
}

export function ThemeButton() {
  const [theme, setTheme] = useState<Theme>(kept);
  useEffect(() => {
    if (theme === "system") {
      delete document.documentElement.dataset.theme;
      localStorage.removeItem(KEY);
    } else {
      document.documentElement.dataset.theme = theme;
      localStorage.setItem(KEY, theme);
    }
  }, [theme]);
  return (
    <button type="button" className="quiet" onClick={() => setTheme(NEXT[theme])}>
      Theme: {theme}
    </button>
  );
}
