// Requests to the monitor. The token, if there is one, goes into a header: EventSource could not send it.

const KEY = "wirestamp token";
const PATIENCE = 10_000;

export const setToken = (token) => (token ? sessionStorage.setItem(KEY, token) : sessionStorage.removeItem(KEY));

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, signal, headers = {}) {
  const token = sessionStorage.getItem(KEY);
  // a header holds no other characters
  const isUsable = token && /^[\x21-\x7e]+$/.test(token);
  const authorization = isUsable ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { headers: { ...authorization, ...headers }, cache: "no-store", signal });
  if (!answer.ok) throw new Refused(answer.status, (await answer.text()).trim());
  return answer;
}

export async function json(path, patience = PATIENCE) {
  return (await ask(path, AbortSignal.timeout(patience))).json();
}

export async function text(path, media) {
  return (await ask(path, AbortSignal.timeout(PATIENCE), { Accept: media })).text();
}

// Calls `each` with every event of a stream of server-sent events, until it ends or `signal` ends it.
export async function stream(path, signal, each) {
  const reader = (await ask(path, signal)).body.pipeThrough(new TextDecoderStream()).getReader();
  for (let waiting = ""; ; ) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (waiting + value).split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
      if (data.length) each(JSON.parse(data.join("\n")));
    }
  }
}
