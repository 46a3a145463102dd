// @ts-check
/** How the button looks. A shop sets --desk-accent and its kin on the element, or on the page. */

export const launcherStyle = new CSSStyleSheet();
launcherStyle.replaceSync(`
:host {
  color-scheme: light dark;
  --accent: var(--desk-accent, #2f4fc7);
  --on-accent: var(--desk-on-accent, #fff);
  --paper: var(--desk-paper, light-dark(#fff, #1b1d22));
  --ink: var(--desk-ink, light-dark(#1c1e24, #e9e9ee));
  --soft: light-dark(#5c606b, #a9adb8);
  --edge: light-dark(#e4e5ea, #363a43);
  --wash: light-dark(#f2f3f7, #292c34);
  --ring: light-dark(var(--accent), #9db2ff);
  --bad: light-dark(#a3202b, #ff9d9d);
  --radius: var(--desk-radius, 18px);
  font: 15px/1.45 var(--desk-font, system-ui, sans-serif);
}
* { box-sizing: border-box; margin: 0; }
[hidden] { display: none !important; }
.desk { color: var(--ink); text-align: start; }
button, textarea, input { font: inherit; color: inherit; }
button { border: 0; background: none; cursor: pointer; }
button:disabled { cursor: default; }
:focus-visible { outline: 2px solid var(--ring); outline-offset: 2px; }
.icon { width: 1.25em; height: 1.25em; flex: none; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.launcher {
  position: fixed; inset-block-end: var(--desk-bottom, 20px); inset-inline-end: var(--desk-side, 20px); z-index: var(--desk-z, 9999);
  display: grid; place-items: center; width: 56px; height: 56px; border-radius: 50%;
  background: var(--accent); color: var(--on-accent); font-size: 20px; box-shadow: 0 4px 16px #0004;
  transition: transform .15s;
}
.launcher:hover { transform: scale(1.05); }
.badge {
  position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-width: 22px; padding: 0 6px; border-radius: 11px;
  background: #c2212e; color: #fff; font-size: 13px; font-weight: 700; line-height: 22px; text-align: center;
}
:host([inline]) .launcher { display: none; }
@media (max-width: 480px) {
  :host([open]:not([inline])) .launcher { display: none; }
}
@media (prefers-reduced-motion: reduce) {
  * { animation: none !important; transition: none !important; }
}
@media (forced-colors: active) {
  .launcher, .badge { border: 1px solid; }
}
`);
