// @ts-check
/** What the events of a conversation add up to. It is rebuilt from the log at any time. */

export class Log {
  lastSeq = 0;
  readSeq = 0;
  /** How far the desk was told. */
  toldSeq = 0;
  /** Where the newest of others stands: a request that is decided is news too. */
  newsSeq = 0;
  /** All of it, for whoever comes to draw it later. @type {any[]} */
  events = [];
  /** Requests that wait for the team, by id. @type {Map<string, any>} */
  pending = new Map();
  /** Whether an answer is under way. */
  isThinking = false;
  /** Who of the team answers instead of the assistant. @type {string | null} */
  attendedBy = null;
  /** @type {number | null} */
  rating = null;
  /** The answer so far. @type {{run_id: string, text: string} | null} */
  draft = null;
  /** @type {number[]} */
  #others = [];

  /** How many messages of others were not read. */
  get unread() {
    return this.#others.filter((seq) => seq > this.readSeq).length;
  }

  /** Take a stored event; false for one that is known. @param {any} event */
  take(event) {
    const { seq, type, data } = event;
    if (seq <= this.lastSeq) {
      return false;
    }
    this.lastSeq = seq;
    this.newsSeq = data.role === "customer" ? this.newsSeq : seq;
    this.events.push(event);
    if (type === "message") {
      const isMine = data.role === "customer";
      this.isThinking = isMine && this.attendedBy === null;
      if (!isMine) {
        this.#others.push(seq);
        this.draft = data.role === "agent" ? null : this.draft;
      }
    } else if (type === "approval") {
      if (data.status === "pending") {
        this.pending.set(data.approval_id, data);
      } else {
        this.pending.delete(data.approval_id);
      }
    } else if (type === "hand_off") {
      this.attendedBy = data.state === "joined" ? data.by : null;
      this.isThinking &&= this.attendedBy === null;
    } else if (type === "status") {
      this.isThinking = data.status === "thinking";
      this.draft = null;
    } else if (type === "rating") {
      this.rating = data.score;
    }
    return true;
  }

  /** Take what is said live and never stored. @param {any} event */
  hear({ type, data }) {
    if (type === "status") {
      this.isThinking = data.status === "thinking";
      // Whatever was stored is told before this: nobody ends what was begun, a person answers now.
      this.draft = this.isThinking ? this.draft : null;
    } else if (type === "delta") {
      const before = this.draft?.run_id === data.run_id ? this.draft?.text : "";
      // A piece that does not fit is waited out: the message brings all of it.
      if (data.offset <= (before ?? "").length) {
        this.draft = { run_id: data.run_id, text: (before ?? "").slice(0, data.offset) + data.text };
        this.isThinking = true;
      }
    }
  }
}
