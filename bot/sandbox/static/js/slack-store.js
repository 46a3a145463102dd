/** What is in the Slack workspace, kept up to date; one person looks at it at a time. */

import { Backoff, pause } from "./backoff.js";
import { getJson, isProblem, postJson, query } from "./http.js";
import { ofTs } from "./time.js";
import { untilVisible, whileVisible } from "./visibility.js";

const SLACK = "/sandbox/slack";
const HURRY_MS = 500;
export const HOME = "home";
export const FAULTS = "faults";

export class SlackStore {
  channels = [];
  views = [];
  home = null;
  isLive = true;
  thread = null;
  #dismissed = new Set();
  #messages = new Map();
  #seen = new Map();
  #isInView;
  #onChange;
  #pulling = Promise.resolve();
  #beganAt = null;

  /**
   * `workspace` is workspace.json; `isInView` tells whether the person can see Slack at all;
   * `onChange` is called after everything that may look different.
   */
  constructor(workspace, isInView, onChange) {
    this.#isInView = isInView;
    this.people = workspace.people;
    this.app = workspace.app;
    this.name = workspace.name;
    this.commands = workspace.commands;
    this.me = this.people[0];
    this.place = null;
    this.#onChange = onChange;
    this.#name(workspace);
  }

  /** Stay up to date for as long as the page is open. */
  async watch() {
    const backoff = new Backoff();
    let version = -1;
    for (;;) {
      await untilVisible();
      const signal = whileVisible();
      try {
        const asked = performance.now();
        const path = `${SLACK}/changes${query({ after: version })}`;
        const found = await getJson(path, { signal });
        if (found.version !== version) {
          this.isLive = true;
          await this.pull();
          version = found.version;
        } else if (performance.now() - asked < HURRY_MS) {
          // A desk about to stop lets nobody wait.
          await pause(HURRY_MS);
        }
        backoff.reset();
      } catch (problem) {
        if (!isProblem(problem)) {
          reportError(problem);
        }
        if (!signal.aborted) {
          // Another start of the desk may count from anywhere.
          version = -1;
          this.isLive = false;
          this.#onChange();
          await backoff.wait();
        }
      }
    }
  }

  /** Read everything anew, one reading after the other. */
  pull() {
    const pulled = this.#pulling.then(() => this.#read());
    this.#pulling = pulled.catch(() => {});
    return pulled;
  }

  /** Look through the eyes of somebody else. */
  async become(person) {
    this.me = person;
    this.views = [];
    this.home = null;
    this.#messages.clear();
    if (this.place === HOME) {
      await this.openHome();
    }
    await this.pull();
  }

  /** Go to a channel by id, to the app's Home tab, or to what can go wrong. */
  async go(place) {
    this.thread = null;
    this.place = place;
    if (place === HOME) {
      this.#onChange();
      await this.openHome();
      await this.pull();
    } else {
      this.look();
    }
  }

  /** Take what is in view as read. */
  look() {
    this.#see();
    this.#onChange();
  }

  /** Open the thread of a message of the channel in view; null closes it. */
  openThread(ts) {
    this.thread = ts;
    this.#onChange();
  }

  /** Put away what only this person sees, until the page is loaded again. */
  dismiss(ts) {
    this.#dismissed.add(ts);
    this.#onChange();
  }

  channel(id) {
    return this.channels.find((one) => one.id === id);
  }

  messages(channelId) {
    const list = this.#messages.get(channelId)?.list ?? [];
    return this.#dismissed.size === 0 ? list : list.filter((one) => !this.#dismissed.has(one.ts));
  }

  /** Tell whether somebody wrote in the channel since this person looked. */
  isUnread(channelId) {
    const seen = this.#seen.get(`${this.me.id}/${channelId}`) ?? this.#beganAt;
    return this.messages(channelId).some(
      (one) =>
        ofTs(one.ts) > seen &&
        one.user !== this.me.user_id &&
        (one.thread_ts === null ||
          one.thread_ts === one.ts ||
          one.reply_broadcast ||
          one.ephemeral_for !== null),
    );
  }

  click(message, act) {
    return this.#do("click", { channel: message.channel, ts: message.ts, ...act });
  }

  clickView(viewId, act) {
    return this.#do("click", { view_id: viewId, ...act });
  }

  submit(viewId, values) {
    return this.#do("submit", { view_id: viewId, values });
  }

  async close(viewId) {
    await this.#do("close", { view_id: viewId });
    await this.pull();
  }

  command(command, text) {
    return this.#do("command", { command, text, channel: this.place });
  }

  post(text, threadTs = null) {
    const thread = threadTs ? { thread_ts: threadTs } : {};
    return this.#do("messages", { channel: this.place, text, ...thread });
  }

  openHome() {
    return this.#do("home", {});
  }

  #do(path, body) {
    return postJson(`${SLACK}/${path}`, { user: this.me.id, ...body });
  }

  async #read() {
    const person = this.me;
    const user = query({ user: person.id });
    const [channels, views, home] = await Promise.all([
      getJson(`${SLACK}/channels`),
      getJson(`${SLACK}/views${user}`),
      this.place === HOME ? getJson(`${SLACK}/home${user}`) : this.home,
    ]);
    const mine = channels.filter((one) => one.members.includes(person.user_id));
    if (this.place === null || !this.#isPlace(this.place, mine)) {
      this.place = mine[0]?.id ?? HOME;
    }
    await Promise.all(mine.map((channel) => this.#readChannel(channel, person)));
    if (person !== this.me) {
      return;
    }
    Object.assign(this, { channels: mine, views, home });
    this.#beganAt ??= this.#newest(mine);
    this.look();
  }

  #isPlace(place, channels) {
    return place === HOME || place === FAULTS || channels.some(({ id }) => id === place);
  }

  /** Messages elsewhere are read when there are more than before; those in view may have changed. */
  async #readChannel({ id, messages: count }, person) {
    const known = this.#messages.get(id);
    if (known && known.count === count && known.user === person.id && id !== this.place) {
      return;
    }
    const path = `${SLACK}/messages${query({ channel: id, user: person.id })}`;
    const list = await getJson(path);
    if (person === this.me) {
      this.#messages.set(id, { count, list, user: person.id });
    }
  }

  #see() {
    const newest = this.messages(this.place).at(-1);
    if (newest && this.#isInView()) {
      this.#seen.set(`${this.me.id}/${this.place}`, ofTs(newest.ts));
    }
  }

  /** What was written before the page came is nobody's news. */
  #newest(channels) {
    const times = channels.flatMap(({ id }) => this.messages(id).map((one) => ofTs(one.ts)));
    return times.reduce((a, b) => (a > b ? a : b), new Date(0));
  }

  #name({ people, app, user_groups: groups }) {
    const users = new Map([...people, app].map((one) => [one.user_id, one.name]));
    const handles = new Map(groups.map((one) => [one.id, one.handle]));
    this.names = {
      user: (id) => users.get(id),
      group: (id) => handles.get(id),
      channel: (id) => this.channel(id)?.name,
    };
  }
}
