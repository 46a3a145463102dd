// @ts-check
/** How the panel looks: loaded with it, when it is opened for the first time. */

export const panelStyle = new CSSStyleSheet();
panelStyle.replaceSync(`
.panel {
  position: fixed; inset-block-end: calc(var(--desk-bottom, 20px) + 68px); inset-inline-end: var(--desk-side, 20px); z-index: var(--desk-z, 9999);
  display: flex; flex-direction: column; width: min(384px, calc(100vw - 32px)); height: min(620px, calc(100dvh - 110px));
  overflow: hidden; border: 1px solid var(--edge); border-radius: var(--radius);
  background: var(--paper); box-shadow: 0 12px 40px #0003; animation: rise .18s ease-out;
}
.panel:focus { outline: 0; }
@keyframes rise { from { opacity: 0; transform: translateY(10px); } }
.head { display: grid; grid-template-columns: 1fr auto auto; align-items: center; gap: 0 4px; padding: 10px 10px 10px 18px; padding-inline: 18px 10px; border-block-end: 1px solid var(--edge); }
.head div { display: contents; }
.head button { margin-block: -6px; }
h2 { font-size: 16px; line-height: 1.3; }
.head .connection { grid-area: 2 / 1 / 2 / -1; }
.connection { display: flex; align-items: center; gap: 6px; min-height: 18px; color: var(--soft); font-size: 13px; line-height: 18px; }
.connection:not(:empty)::before { content: ""; flex: none; width: 8px; height: 8px; border-radius: 50%; background: light-dark(#b26a00, #f0b345); }
.connection[data-connection=live]::before { background: light-dark(#1f8a5b, #4cc38a); }
.round { display: grid; place-items: center; flex: none; width: 44px; height: 44px; border-radius: 50%; }
.round:hover, .end:hover { background: var(--wash); }
.link { min-height: 44px; padding: 0 8px; border-radius: 8px; font-size: 14px; font-weight: 600; text-decoration: underline; text-underline-offset: 3px; }
.end { color: var(--soft); text-decoration: none; }
.banner { display: flex; align-items: center; justify-content: space-between; gap: 8px; padding: 4px 8px 4px 18px; padding-inline: 18px 8px; background: light-dark(#fdf0cd, #3b2d0c); color: light-dark(#6b4200, #f3cd77); font-size: 14px; }
.body { flex: 1; min-height: 0; padding: 16px; overflow-y: auto; overscroll-behavior: contain; scrollbar-width: thin; }
.body:focus-visible { outline-offset: -3px; }
.log { display: flex; flex-direction: column; gap: 10px; }
.body > * + * { margin-block-start: 10px; }
.turn { display: flex; flex-direction: column; align-items: flex-start; gap: 3px; max-width: 86%; align-self: flex-start; }
.turn.customer { align-items: flex-end; align-self: flex-end; }
.bubble { max-width: 100%; padding: 9px 14px; border-radius: 16px; border-end-start-radius: 5px; background: var(--wash); white-space: pre-wrap; overflow-wrap: anywhere; }
.customer .bubble { border-radius: 16px; border-end-end-radius: 5px; background: var(--accent); color: var(--on-accent); }
.staff .bubble { background: light-dark(#ece7fb, #2f2751); }
.waiting .bubble { opacity: .8; }
.failed.turn .bubble { background: var(--wash); color: var(--ink); box-shadow: inset 0 0 0 1px var(--bad); }
.bubble > * + * { margin-block-start: 8px; }
.bubble a { color: inherit; text-underline-offset: 2px; unicode-bidi: isolate; }
.bubble ul, .bubble ol { padding-inline-start: 22px; }
.bubble code { font: .9em ui-monospace, monospace; }
.bubble pre { padding: 8px; border-radius: 8px; background: var(--paper); overflow-x: auto; }
.who { padding-inline: 4px; font-size: 13px; font-weight: 600; }
.note, small { color: var(--soft); font-size: 12px; }
.note { padding-inline: 4px; }
.note:empty { display: none; }
.customer .bad { justify-content: flex-end; }
.bad { display: flex; flex-wrap: wrap; align-items: center; color: var(--bad); font-size: 13px; }
.bad span { display: inline-flex; gap: 4px; align-items: center; }
.line, .day { color: var(--soft); font-size: 13px; text-align: center; text-wrap: balance; }
.day { font-weight: 600; }
.chip {
  --tint: light-dark(#565a65, #a9adb8);
  padding: 10px 14px; border: 1px solid color-mix(in srgb, var(--tint) 40%, var(--paper)); border-radius: 14px;
  background: color-mix(in srgb, var(--tint) 7%, var(--paper)); overflow-wrap: anywhere; font-size: 14px;
}
.chip.pending { --tint: light-dark(#8a5800, #f0b345); }
.chip.approved, .chip.checking { --tint: light-dark(#1a5ea8, #8dc1f7); }
.chip.done { --tint: light-dark(#12693f, #6fd3a0); }
.chip.declined, .chip.failed { --tint: var(--bad); }
.state { display: flex; flex-wrap: wrap; align-items: center; gap: 2px 6px; color: var(--tint); }
.chip .link { margin-block-end: -8px; padding-inline: 0; }
.typing { display: flex; gap: 5px; width: max-content; padding: 13px 14px; border-radius: 16px; border-end-start-radius: 5px; background: var(--wash); }
.typing i { width: 7px; height: 7px; border-radius: 50%; background: var(--soft); animation: dot 1.1s infinite; }
.typing i:nth-of-type(2) { animation-delay: .15s; }
.typing i:nth-of-type(3) { animation-delay: .3s; }
@keyframes dot { 30% { opacity: .35; transform: translateY(-3px); } }
.above { display: flex; justify-content: center; height: 0; }
.news { display: flex; align-items: center; gap: 6px; height: 44px; margin-block-start: -52px; padding: 0 16px; border: 1px solid var(--edge); border-radius: 22px; background: var(--paper); box-shadow: 0 2px 10px #0002; font-size: 14px; font-weight: 600; }
.stop { border: 1px solid var(--soft); }
.icon-stop { fill: currentColor; }
.composer, .rating { padding: 10px 12px 12px; border-block-start: 1px solid var(--edge); }
.composer div { display: flex; align-items: flex-end; gap: 4px; }
textarea { flex: 1; width: 100%; min-height: 44px; max-height: 140px; padding: 10px 14px; border: 1px solid var(--soft); border-radius: 22px; background: none; font-size: 16px; line-height: 1.4; resize: none; }
textarea:focus { outline: 2px solid var(--ring); outline-offset: -1px; }
textarea::placeholder { color: var(--soft); opacity: 1; }
.send, .main { background: var(--accent); color: var(--on-accent); }
.send:hover { background: var(--accent); }
.send:disabled { background: var(--wash); color: var(--soft); }
.composer .note { padding-block-start: 4px; text-align: end; }
fieldset { padding: 0; border: 0; }
legend { padding: 0; margin-block-end: 8px; font-weight: 600; }
.scores { display: flex; gap: 6px; margin-block-end: 10px; }
.scores label { position: relative; flex: 1; display: flex; flex-direction: column; align-items: center; min-height: 56px; padding: 6px 2px; border: 1px solid var(--soft); border-radius: 12px; text-align: center; font-size: 11px; line-height: 1.2; cursor: pointer; }
.scores b { font-size: 18px; }
.scores input { position: absolute; inset: 0; opacity: 0; cursor: pointer; }
.scores label:has(:checked) { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.scores label:has(:focus-visible) { outline: 2px solid var(--ring); outline-offset: 2px; }
.rating textarea { border-radius: 12px; }
.acts { display: flex; flex-wrap: wrap; justify-content: flex-end; gap: 8px; margin-block-start: 8px; }
.main { min-height: 44px; padding: 0 18px; border-radius: 22px; font-weight: 600; }
[dir=rtl] :is(.icon-send, .icon-back) { transform: scaleX(-1); }
:host([inline]) { display: block; min-height: 0; }
:host([inline]) .desk { height: 100%; }
:host([inline]) .panel { position: static; width: 100%; height: 100%; box-shadow: none; animation: none; }
:host([inline]) .close { display: none; }
@media (max-width: 480px) {
  :host(:not([inline])) .panel { inset: var(--seen-top, 0) 0 auto; width: 100%; height: var(--seen-height, 100dvh); border: 0; border-radius: 0; }
}
@supports not (color: light-dark(#fff, #000)) {
  :host { --paper: #fff; --ink: #1c1e24; --soft: #5c606b; --edge: #e4e5ea; --wash: #f2f3f7; --bad: #a3202b; }
}
@media (forced-colors: active) {
  .bubble, .send, .main, .typing { border: 1px solid; }
  .scores label:has(:checked) { border-width: 3px; }
}
`);
