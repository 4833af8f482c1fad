// Many waiting AwaitProof calls beside a load of GetStatus: node waiters.js ADDRESS JOB DAEMON_PID CALLS SECONDS
// The job must not end by itself; it is cancelled at the end, which must answer every call. Memory, threads and open files
// of the daemon are looked at all the time. Exit code 1 if a call is lost or the daemon's memory grows by more than 2 %.
"use strict";
const fs = require("fs"), path = require("path");
const grpc = require("@grpc/grpc-js"), loader = require("@grpc/proto-loader");
const [address, job, pid, nText, secondsText] = process.argv.slice(2), n = Number(nText), seconds = Number(secondsText);
const proto = path.join(__dirname, "../../src/rpc/proto");
const v1 = grpc.loadPackageDefinition(loader.loadSync(path.join(proto, "cuzk.proto"), {keepCase: true, longs: String, enums: String, defaults: true})).cuzk.v1;
const client = new v1.ProvingEngine(address, grpc.credentials.createInsecure());
const call = (name, request) => new Promise((yes, no) => client[name](request, (e, r) => (e ? no(e) : yes(r))));
const sleep = ms => new Promise(yes => setTimeout(yes, ms));

function look() {
  const status = fs.readFileSync(`/proc/${pid}/status`, "utf8"), stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  const number = key => Number(status.match(new RegExp(`^${key}:\\s*(\\d+)`, "m"))[1]);
  return {rss: number("VmRSS") * 1024, threads: number("Threads"), files: fs.readdirSync(`/proc/${pid}/fd`).length, ticks: Number(stat[11]) + Number(stat[12])};
}
const text = l => `${(l.rss / 1048576).toFixed(1)} MiB, ${l.threads} threads, ${l.files} files`;

(async () => {
  const answers = {}, times = [];
  let waiting = 0, stop = false, asked = 0;
  console.log("before: " + text(look()));
  const waits = [];
  for (let i = 0; i < n; i++) {
    waiting++;
    waits.push(call("AwaitProof", {job_id: job}).then(r => r.status, e => "error " + e.code).then(s => { answers[s] = (answers[s] || 0) + 1; waiting--; }));
  }
  await sleep(2000);
  console.log(`${waiting} calls wait: ` + text(look()));
  const load = Array.from({length: 4}, async () => {
    while (!stop) {
      const start = process.hrtime.bigint();
      await call("GetStatus", {});
      times.push(Number(process.hrtime.bigint() - start) / 1e6);
      asked++;
      await sleep(20);
    }
  });
  await sleep(3000); // what the first answers need
  const first = look();
  let last = first, most = first.rss, threads = first.threads;
  for (let i = 0; i < seconds; i++) {
    await sleep(1000);
    last = look();
    most = Math.max(most, last.rss);
    threads = Math.max(threads, last.threads);
  }
  const lost = n - waiting;
  stop = true;
  await Promise.all(load);
  times.sort((a, b) => a - b);
  const at = q => times[Math.min(times.length - 1, Math.floor(q * times.length))].toFixed(1);
  console.log(`under load: ${text(first)}; after ${seconds} s: ${text(last)}; most ${(most / 1048576).toFixed(1)} MiB, ${threads} threads`);
  console.log(`GetStatus: ${asked} calls, median ${at(0.5)} ms, 99 % within ${at(0.99)} ms, longest ${at(1)} ms; CPU of the daemon ${((last.ticks - first.ticks) / seconds).toFixed(1)} %`);
  const start = Date.now();
  await call("CancelProof", {job_id: job});
  await Promise.all(waits);
  console.log(`cancelled: ${JSON.stringify(answers)} within ${Date.now() - start} ms`);
  await sleep(1000);
  console.log("after: " + text(look()));
  const good = lost === 0 && answers.CANCELLED === n && most <= first.rss * 1.02;
  console.log(good ? "good" : "NOT GOOD");
  process.exit(good ? 0 : 1);
})();
