// The theme: light or dark.

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("cargo-chess-theme", theme);
  } catch {
    // Without storage, the page has the system's theme when it is opened again.
  }
}

function toggleTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function firstTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("cargo-chess-theme");
  } catch {
    // See `setTheme`.
  }
  const follow = () => (document.documentElement.dataset.theme = dark.matches ? "dark" : "light");
  if (chosen) document.documentElement.dataset.theme = chosen;
  else {
    follow();
    dark.addEventListener("change", follow);
  }
}
