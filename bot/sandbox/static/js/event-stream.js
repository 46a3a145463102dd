/** Read a `text/event-stream` body by hand: EventSource cannot send an Authorization header. */

import { Unreachable } from "./http.js";

/** Yield `{id, event, data}` for each event; `id` is undefined where the event has none. */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let fields = blank();
  try {
    for (;;) {
      const { done, value } = await read(reader);
      if (done) {
        return;
      }
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line !== "") {
          take(fields, line);
        } else if (fields.data.length > 0) {
          yield { id: fields.id, event: fields.event, data: fields.data.join("\n") };
          fields = blank();
        } else {
          fields = blank();
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function read(reader) {
  try {
    return await reader.read();
  } catch {
    throw new Unreachable();
  }
}

function blank() {
  return { id: undefined, event: "message", data: [] };
}

function take(fields, line) {
  const [, name, value] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line);
  if (name === "data") {
    fields.data.push(value);
  } else if (name === "id" || name === "event") {
    fields[name] = value;
  }
}
