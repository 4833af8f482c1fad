// All eight calls, from @grpc/grpc-js: node interop.js ADDRESS OUT_DIR KIND=REQUEST.json ...
// Proofs go to OUT_DIR/KIND.node.proof, to be verified by the caller. Ends with `N passed, N failed`.
"use strict";
const fs = require("fs"), path = require("path");
const grpc = require("@grpc/grpc-js"), loader = require("@grpc/proto-loader");
const [address, outDir, ...pairs] = process.argv.slice(2);
const proto = path.join(__dirname, "../../src/rpc/proto");
const load = f => grpc.loadPackageDefinition(loader.loadSync(path.join(proto, f), {keepCase: true, longs: String, enums: String, defaults: true, includeDirs: [proto]}));
const v1 = load("cuzk.proto").cuzk.v1, health = load("grpc/health/v1/health.proto").grpc.health.v1;
const options = {"grpc.max_send_message_length": -1, "grpc.max_receive_message_length": -1};
const credentials = grpc.credentials.createInsecure();
const client = new v1.ProvingEngine(address, credentials, options), checker = new health.Health(address, credentials);

const call = (c, name, request, meta) => new Promise((yes, no) => c[name](request, meta || {}, (e, r) => (e ? no(e) : yes(r))));
const fails = async (promise, code, text) => {
  try { await promise; } catch (e) {
    if (e.code !== code || !String(e.details).includes(text)) throw new Error(`expected ${code} "${text}", found ${e.code} ${e.details}`);
    return;
  }
  throw new Error(`expected a failure with code ${code}`);
};
const check = (good, text) => { if (!good) throw new Error(text); };

function read(file, suffix) {
  const r = JSON.parse(fs.readFileSync(file));
  for (const k of ["vanilla_proof", "randomness", "comm_r_old", "comm_r_new", "comm_d_new"]) if (r[k]) r[k] = Buffer.from(r[k], "base64");
  if (r.vanilla_proofs) r.vanilla_proofs = r.vanilla_proofs.map(p => Buffer.from(p, "base64"));
  r.request_id = (r.request_id || "") + suffix;
  return r;
}

let passed = 0, failed = 0;
async function test(name, run) {
  try { await run(); passed++; console.log("ok " + name); } catch (e) { failed++; console.log("FAIL " + name + ": " + e.message); }
}

(async () => {
  const requests = pairs.map(p => p.split("="));
  const stamp = "-" + Date.now();
  await test("health", async () => {
    check((await call(checker, "Check", {service: ""})).status === "SERVING", "not serving");
    await fails(call(checker, "Check", {service: "x"}), grpc.status.NOT_FOUND, "");
    const watch = checker.Watch({service: "cuzk.v1.ProvingEngine"});
    watch.on("error", () => {});
    const first = await new Promise(yes => watch.on("data", yes));
    watch.cancel();
    check(first.status === "SERVING", "watch says " + first.status);
  });
  await test("GetStatus", async () => {
    const s = await call(client, "GetStatus", {});
    check(s.queues.length === 4 && s.gpus.length >= 1 && s.queues.every(q => typeof q.pending === "number"), JSON.stringify(s));
  });
  await test("GetMetrics", async () => check((await call(client, "GetMetrics", {})).prometheus_text.includes("cuzk_queue_depth "), "no queue depth"));
  for (const [kind, file] of requests) {
    await test("SubmitProof, AwaitProof " + kind, async () => {
      const s = await call(client, "SubmitProof", read(file, stamp));
      check(s.job_id.length > 8, "no job id");
      const again = await call(client, "SubmitProof", read(file, stamp));
      check(again.job_id === s.job_id, "the same request is another job");
      const t = await call(client, "AwaitProof", {job_id: s.job_id, timeout_ms: 1});
      check(["TIMEOUT", "COMPLETED"].includes(t.status), t.status);
      const a = await call(client, "AwaitProof", {job_id: s.job_id});
      check(a.status === "COMPLETED" && a.proof.length % 192 === 0 && a.proof.length > 0, a.status + " " + a.error_message);
      fs.writeFileSync(path.join(outDir, kind + ".node.proof"), a.proof);
      const p = await call(client, "Prove", {submit: read(file, stamp)});
      check(p.result.status === "COMPLETED" && p.result.proof.equals(a.proof), "Prove gives another proof for the same request");
    });
  }
  const [kind, file] = requests[0];
  await test("other content under the same id is a new job", async () => {
    const one = read(file, stamp), two = read(file, stamp);
    two.miner_id = "77777";
    const ids = [];
    for (const r of [one, two]) try { ids.push((await call(client, "SubmitProof", r)).job_id); } catch (e) { ids.push(e.details); }
    check(ids[0] !== ids[1], "one job for two contents");
    await call(client, "CancelProof", {job_id: ids[1]});
  });
  await test("CancelProof", async () => {
    const s = await call(client, "SubmitProof", read(file, stamp + "-cancel"));
    const waiting = call(client, "AwaitProof", {job_id: s.job_id});
    check((await call(client, "CancelProof", {job_id: s.job_id})).was_running === true, "was not running");
    check((await waiting).status === "CANCELLED", "not cancelled");
    check((await call(client, "CancelProof", {job_id: s.job_id})).was_running === false, "ran on");
    check((await call(client, "CancelProof", {job_id: "job-unknown"})).was_running === false, "unknown job ran");
  });
  await test("a client that goes away ends its Prove", async () => {
    const before = (await call(client, "GetMetrics", {})).prometheus_text;
    const c = client.Prove({submit: read(file, stamp + "-gone")}, () => {});
    await new Promise(yes => setTimeout(yes, 500));
    c.cancel();
    const count = t => Number(/^cuzk_proofs_cancelled_total (\d+)/m.exec(t)[1]);
    for (let i = 0; i < 50; i++) {
      if (count((await call(client, "GetMetrics", {})).prometheus_text) > count(before)) return;
      await new Promise(yes => setTimeout(yes, 100));
    }
    throw new Error("the job was not cancelled");
  });
  await test("deadlines", async () => {
    const s = await call(client, "SubmitProof", read(file, stamp + "-deadline"));
    await fails(new Promise((yes, no) => client.AwaitProof({job_id: s.job_id}, {deadline: Date.now() + 100}, (e, r) => (e ? no(e) : yes(r)))), grpc.status.DEADLINE_EXCEEDED, "");
    await call(client, "CancelProof", {job_id: s.job_id});
  });
  await test("PreloadSRS, EvictSRS", async () => {
    const id = {porep: "porep-2k", winning: "winning-2k", window: "wpost-2k", update: "snap-2k"}[kind];
    await call(client, "PreloadSRS", {circuit_id: id});
    check((await call(client, "PreloadSRS", {circuit_id: id})).already_loaded, "not loaded after preload");
    let e;
    for (let i = 0; !e && i < 100; i++) { // until the job cancelled before has let go of them
      try { e = await call(client, "EvictSRS", {circuit_id: id}); } catch (error) {
        if (error.code !== grpc.status.RESOURCE_EXHAUSTED || i === 99) throw error;
        await new Promise(yes => setTimeout(yes, 100));
      }
    }
    check(e.was_loaded && Number(e.freed_bytes) > 0, JSON.stringify(e));
    await fails(call(client, "PreloadSRS", {circuit_id: "nothing-1x"}), grpc.status.INVALID_ARGUMENT, "nothing-1x");
  });
  await test("empty and wrong requests", async () => {
    await fails(call(client, "SubmitProof", {}), grpc.status.INVALID_ARGUMENT, "");
    await fails(call(client, "Prove", {}), grpc.status.INVALID_ARGUMENT, "");
    check((await call(client, "AwaitProof", {job_id: "job-unknown"})).status === "UNKNOWN", "an unknown job is known");
  });
  await test("fields that cannot be right", async () => {
    const count = async name => Number(new RegExp(`^${name} (\\d+)`, "m").exec((await call(client, "GetMetrics", {})).prometheus_text)[1]);
    const failed = await count("cuzk_proofs_failed_total"), rejected = await count("cuzk_requests_rejected_total");
    const wrong = [["registered_proof", "99"], ["sector_size", "4096"], ["miner_id", "9223372036854775808"]];
    for (const [name, value] of wrong) {
      const r = read(file, stamp + "-wrong");
      r[name] = value;
      await fails(call(client, "SubmitProof", r), grpc.status.INVALID_ARGUMENT, `${name}: found ${name === "sector_size" ? "4096, but" : value}`);
      await fails(call(client, "Prove", {submit: r}), grpc.status.INVALID_ARGUMENT, name);
    }
    check(await count("cuzk_requests_rejected_total") === rejected + 6 && await count("cuzk_proofs_failed_total") === failed, "counted otherwise");
    const unsaid = read(file, stamp); // some of Curio's requests do not say the size
    delete unsaid.sector_size;
    check((await call(client, "SubmitProof", unsaid)).job_id === (await call(client, "SubmitProof", read(file, stamp))).job_id, "another job");
  });
  await test("256 MiB and a byte", async () => {
    const big = read(file, stamp + "-big");
    big.vanilla_proof = Buffer.alloc(256 * 1048576);
    await fails(call(client, "SubmitProof", big), grpc.status.RESOURCE_EXHAUSTED, "268435456");
  });
  await test("1,000 waiting calls", async () => {
    const s = await call(client, "SubmitProof", read(file, stamp + "-many"));
    const waiting = Array.from({length: 1000}, () => call(client, "AwaitProof", {job_id: s.job_id}));
    for (let i = 0; i < 20; i++) await call(client, "GetStatus", {});
    await call(client, "CancelProof", {job_id: s.job_id});
    const ends = new Set((await Promise.all(waiting)).map(r => r.status));
    check(ends.size === 1 && ends.has("CANCELLED"), [...ends].join());
  });
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
})();
