/** The demo page: the shop on the left, Slack on the right, the breaker above both. */

import { BreakerLight } from "./breaker.js";
import { getJson } from "./http.js";
import { Shop } from "./shop.js";
import { SlackPanel } from "./slack-panel.js";
import { Tabs } from "./tabs.js";

const find = (selector) => document.querySelector(selector);

const light = new BreakerLight(find("#breaker"));
const shop = new Shop(find("#shop"), () => light.look());
const slack = new SlackPanel(find("#slack"), await getJson("workspace.json"), {
  onNews: (isNews) => {
    find(".bar-news").hidden = !isNews;
  },
  onChange: () => light.look(),
});
new Tabs([find("#tab-shop"), find("#tab-slack")], () => slack.look());

await Promise.all([light.look(), shop.start(), slack.start()]);
