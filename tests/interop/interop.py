"""All eight calls, from grpcio with descriptors as protoc or reflection give them (no generated code).

interop.py ADDRESS DESCRIPTORS.pb OUT_DIR KIND=REQUEST.json ...
Proofs go to OUT_DIR/KIND.python.proof. Ends with `N passed, N failed`.
"""
import json
import sys
import time

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

address, descriptors, out_dir, *pairs = sys.argv[1:]
pool = descriptor_pool.DescriptorPool()
with open(descriptors, "rb") as f:
    files = descriptor_pb2.FileDescriptorSet.FromString(f.read())
for file in files.file:
    pool.Add(file)
factory = message_factory.MessageFactory(pool)
service = pool.FindServiceByName("cuzk.v1.ProvingEngine")
channel = grpc.insecure_channel(
    address, options=[("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)])


def message(name, **values):
    return factory.GetPrototype(pool.FindMessageTypeByName(name))(**values)


def call(name, request, timeout=600):
    method = service.methods_by_name[name]
    answer = factory.GetPrototype(method.output_type)
    return channel.unary_unary("/%s/%s" % (service.full_name, name), request_serializer=lambda m: m.SerializeToString(),
                               response_deserializer=answer.FromString)(request, timeout=timeout)


def read(file, suffix):
    with open(file) as f:
        request = json_format.ParseDict(json.load(f), message("cuzk.v1.SubmitProofRequest"))
    request.request_id += suffix
    return request


def check_status():
    status = call("GetStatus", message("cuzk.v1.GetStatusRequest"))
    assert [q.proof_kind for q in status.queues] == ["porep-c2", "snap-update", "window-post", "winning-post"]
    assert "cuzk_queue_depth" in call("GetMetrics", message("cuzk.v1.GetMetricsRequest")).prometheus_text


def check_proof(kind, file, suffix):
    submitted = call("SubmitProof", read(file, suffix))
    answer = call("AwaitProof", message("cuzk.v1.AwaitProofRequest", job_id=submitted.job_id))
    assert answer.status == 1, answer.error_message
    request = message("cuzk.v1.ProveRequest")
    request.submit.CopyFrom(read(file, suffix))
    assert call("Prove", request).result.proof == answer.proof
    with open("%s/%s.python.proof" % (out_dir, kind), "wb") as f:
        f.write(answer.proof)


def check_cancel(file, suffix):
    job = call("SubmitProof", read(file, suffix)).job_id
    assert call("CancelProof", message("cuzk.v1.CancelProofRequest", job_id=job)).was_running
    assert call("AwaitProof", message("cuzk.v1.AwaitProofRequest", job_id=job)).status == 3


def check_wrong(file, suffix):
    for field, value in (("registered_proof", 99), ("sector_size", 4096), ("randomness", b"short")):
        request = read(file, suffix)
        setattr(request, field, value)
        if field == "randomness" and not read(file, suffix).randomness:
            continue
        try:
            call("SubmitProof", request)
            raise AssertionError("%s: accepted" % field)
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
            assert error.details().startswith(field + ": found "), error.details()


def check_keys():
    call("PreloadSRS", message("cuzk.v1.PreloadSrsRequest", circuit_id="winning-2k"))
    for attempt in range(100):
        try:
            assert call("EvictSRS", message("cuzk.v1.EvictSrsRequest", circuit_id="winning-2k")).was_loaded
            return
        except grpc.RpcError as error:  # a worker may still be about to leave the cancelled job
            if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED or attempt == 99:
                raise
            time.sleep(0.1)


def check_reflection(version):
    request = factory.GetPrototype(pool.FindMessageTypeByName("grpc.reflection.%s.ServerReflectionRequest" % version))
    answer = factory.GetPrototype(pool.FindMessageTypeByName("grpc.reflection.%s.ServerReflectionResponse" % version))
    stream = channel.stream_stream("/grpc.reflection.%s.ServerReflection/ServerReflectionInfo" % version,
                                   request_serializer=lambda m: m.SerializeToString(),
                                   response_deserializer=answer.FromString)
    answers = list(stream(iter([request(list_services=""), request(file_containing_symbol="cuzk.v1.ProvingEngine"),
                                request(file_by_filename="nothing.proto")])))
    assert "cuzk.v1.ProvingEngine" in [s.name for s in answers[0].list_services_response.service]
    told = descriptor_pb2.FileDescriptorProto.FromString(answers[1].file_descriptor_response.file_descriptor_proto[0])
    assert told == [f for f in files.file if f.name == "cuzk.proto"][0]
    assert answers[2].error_response.error_code == 5


passed = failed = 0


def test(name, run, *arguments):
    global passed, failed
    try:
        run(*arguments)
        passed += 1
        print("ok " + name)
    except Exception as error:  # noqa: BLE001 (each kind of failure is a failed case)
        failed += 1
        print("FAIL %s: %s" % (name, error))


stamp = "-py-%d" % time.time_ns()
requests = [p.split("=", 1) for p in pairs]
test("GetStatus, GetMetrics", check_status)
for kind, file in requests:
    test("SubmitProof, AwaitProof, Prove " + kind, check_proof, kind, file, stamp)
test("CancelProof", check_cancel, requests[0][1], stamp + "-cancel")
for kind, file in requests:
    test("fields that cannot be right, " + kind, check_wrong, file, stamp + "-wrong")
test("PreloadSRS, EvictSRS", check_keys)
for version in ("v1", "v1alpha"):
    test("reflection " + version, check_reflection, version)
print("%d passed, %d failed" % (passed, failed))
sys.exit(1 if failed else 0)
