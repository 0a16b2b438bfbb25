// node's clients: takes the steps that its first argument names, then one of them 50 times at once.
// Arguments: steps as JSON, address, certificate of the authority or "", and which client.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { buffer } from "node:stream/consumers";

const [words, address, authority, which] = process.argv.slice(2);
const ca = authority === "" ? undefined : readFileSync(authority);

function outcome(status, data, range) {
  const digest = createHash("sha256").update(data).digest("hex");
  return { status, size: data.length, digest, range: range ?? "" };
}

const bodyOf = (step) => (step.Size > 0 ? "x".repeat(step.Size) : undefined);

async function byFetch(step) {
  const options = { method: step.Method, headers: step.Fields, body: bodyOf(step) };
  const answer = await fetch(address + step.Path, options);
  const data = Buffer.from(await answer.arrayBuffer());
  return outcome(answer.status, data, answer.headers.get("content-range"));
}

const library = authority === "" ? http : https;
const agent = new library.Agent({ keepAlive: true, maxSockets: 10, ca });

function byHttp(step) {
  return new Promise((resolve, reject) => {
    const options = { method: step.Method, headers: step.Fields, agent };
    const request = library.request(address + step.Path, options, (answer) => {
      buffer(answer).then(
        (data) => resolve(outcome(answer.statusCode, data, answer.headers["content-range"])),
        reject,
      );
    });
    request.on("error", reject);
    request.end(bodyOf(step));
  });
}

let session;

function byHttp2(step) {
  session ??= http2.connect(address, { ca });
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": step.Method,
      ":path": step.Path,
      ...step.Fields,
    });
    let head;
    stream.on("response", (fields) => (head = fields));
    stream.on("error", reject);
    buffer(stream).then(
      (data) => resolve(outcome(head[":status"], data, head["content-range"])),
      reject,
    );
    stream.end(bodyOf(step));
  });
}

const take = { fetch: byFetch, http: byHttp, http2: byHttp2 }[which];
const steps = JSON.parse(words);
const found = [];
for (const step of steps) found.push(await take(step));
const together = await Promise.all(Array.from({ length: 50 }, () => take(steps[0])));
const same = together.filter((one) => JSON.stringify(one) === JSON.stringify(found[0])).length;
console.log(JSON.stringify({ steps: found, same, version: which === "http2" ? 2 : 1 }));
session?.close();
agent.destroy();
