// Before the first paint: the theme that was chosen here, if any. Without one the system's holds.
try {
  const chosen = localStorage.getItem("roost.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // No storage (a private window): the system's theme it is.
}
