// The calls that a Curio node makes, with its gRPC library (grpc-go) and its settings: plain text, 256 MiB, a deadline for
// each Prove. Messages are written and read here by the numbers of their fields, without the .proto file.
//
//	main ADDRESS OUT_DIR KIND=REQUEST.json ...
//
// Proofs go to OUT_DIR/KIND.go.proof. Ends with `N passed, N failed`.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/ioutil"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Messages as they are on the wire.
type raw struct{}

func (raw) Marshal(v interface{}) ([]byte, error)      { return v.([]byte), nil }
func (raw) Unmarshal(data []byte, v interface{}) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                               { return "proto" }

func putVarint(m []byte, v uint64) []byte {
	var b [10]byte
	return append(m, b[:binary.PutUvarint(b[:], v)]...)
}

func putNumber(m []byte, field, v uint64) []byte { return putVarint(putVarint(m, field<<3), v) }

func putBytes(m []byte, field uint64, v []byte) []byte {
	return append(putVarint(putVarint(m, field<<3|2), uint64(len(v))), v...)
}

// The fields of a message: numbers, and bytes.
func read(m []byte) (map[uint64]uint64, map[uint64][][]byte) {
	numbers, texts := map[uint64]uint64{}, map[uint64][][]byte{}
	for len(m) > 0 {
		tag, n := binary.Uvarint(m)
		m = m[n:]
		v, n := binary.Uvarint(m)
		m = m[n:]
		if tag&7 == 2 {
			texts[tag>>3] = append(texts[tag>>3], m[:v])
			m = m[v:]
		} else if tag&7 == 0 {
			numbers[tag>>3] = v
		} else {
			panic("wire type")
		}
	}
	return numbers, texts
}

type request struct {
	RequestId       string   `json:"request_id"`
	ProofKind       string   `json:"proof_kind"`
	SectorSize      uint64   `json:"sector_size"`
	RegisteredProof uint64   `json:"registered_proof"`
	VanillaProof    []byte   `json:"vanilla_proof"`
	VanillaProofs   [][]byte `json:"vanilla_proofs"`
	SectorNumber    uint64   `json:"sector_number"`
	MinerId         uint64   `json:"miner_id"`
	Randomness      []byte   `json:"randomness"`
	PartitionIndex  uint64   `json:"partition_index"`
	CommROld        []byte   `json:"comm_r_old"`
	CommRNew        []byte   `json:"comm_r_new"`
	CommDNew        []byte   `json:"comm_d_new"`
}

var kinds = map[string]uint64{
	"POREP_SEAL_COMMIT": 1, "SNAP_DEALS_UPDATE": 2, "WINDOW_POST_PARTITION": 3, "WINNING_POST": 4}

func (r request) message() []byte {
	m := putBytes(nil, 1, []byte(r.RequestId))
	m = putNumber(m, 2, kinds[r.ProofKind])
	m = putNumber(m, 3, r.SectorSize)
	m = putNumber(m, 4, r.RegisteredProof)
	m = putNumber(m, 5, 3)
	m = putBytes(m, 10, r.VanillaProof)
	for _, p := range r.VanillaProofs {
		m = putBytes(m, 11, p)
	}
	m = putNumber(m, 20, r.SectorNumber)
	m = putNumber(m, 21, r.MinerId)
	m = putBytes(m, 22, r.Randomness)
	m = putNumber(m, 23, r.PartitionIndex)
	m = putBytes(m, 30, r.CommROld)
	m = putBytes(m, 31, r.CommRNew)
	return putBytes(m, 32, r.CommDNew)
}

var connection *grpc.ClientConn

func call(method string, m []byte, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var answer []byte
	err := connection.Invoke(ctx, "/cuzk.v1.ProvingEngine/"+method, m, &answer, grpc.ForceCodec(raw{}))
	return answer, err
}

func must(ok bool, format string, values ...interface{}) {
	if !ok {
		panic(fmt.Sprintf(format, values...))
	}
}

func load(file, suffix string) request {
	var r request
	text, err := ioutil.ReadFile(file)
	must(err == nil, "%v", err)
	must(json.Unmarshal(text, &r) == nil, "%s", file)
	r.RequestId += suffix
	return r
}

// Its back-pressure: what waits and runs, over all queues.
func loadOfDaemon() uint64 {
	answer, err := call("GetStatus", nil, 5*time.Second)
	must(err == nil, "%v", err)
	_, texts := read(answer)
	must(len(texts[3]) == 4, "%d queues", len(texts[3]))
	sum := uint64(0)
	for _, q := range texts[3] {
		numbers, _ := read(q)
		sum += numbers[2] + numbers[3]
	}
	return sum
}

func prove(r request, limit time.Duration) (map[uint64]uint64, map[uint64][][]byte) {
	answer, err := call("Prove", putBytes(nil, 1, r.message()), limit)
	must(err == nil, "%v", err)
	_, texts := read(answer)
	must(len(texts[1]) == 1, "no result")
	return read(texts[1][0])
}

func main() {
	passed, failed := 0, 0
	test := func(name string, run func()) {
		defer func() {
			if r := recover(); r != nil {
				failed++
				fmt.Printf("FAIL %s: %v\n", name, r)
			} else {
				passed++
				fmt.Println("ok " + name)
			}
		}()
		run()
	}
	var err error
	connection, err = grpc.Dial(os.Args[1], grpc.WithInsecure(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20), grpc.MaxCallSendMsgSize(300<<20)))
	if err != nil {
		panic(err)
	}
	stamp := fmt.Sprintf("-go-%d", time.Now().UnixNano())
	test("GetStatus", func() { must(loadOfDaemon() == 0, "the queues are not empty") })
	for _, pair := range os.Args[3:] {
		kind, file := pair[:strings.Index(pair, "=")], pair[strings.Index(pair, "=")+1:]
		test("Prove "+kind, func() {
			numbers, texts := prove(load(file, stamp), 10*time.Minute)
			must(numbers[2] == 1 && len(texts[3]) == 1, "status %d, %s", numbers[2], texts[4])
			_, again := prove(load(file, stamp), 10*time.Minute)
			must(bytes.Equal(again[3][0], texts[3][0]), "another proof for the same request")
			must(ioutil.WriteFile(os.Args[2]+"/"+kind+".go.proof", texts[3][0], 0666) == nil, "cannot write")
		})
	}
	file := os.Args[3][strings.Index(os.Args[3], "=")+1:]
	test("a broken proof is FAILED, with a reason", func() {
		r := load(file, stamp+"-broken")
		r.Randomness[0] ^= 1
		numbers, texts := prove(r, time.Minute)
		must(numbers[2] == 2 && len(texts[4][0]) > 0 && len(texts[3]) == 0, "status %d", numbers[2])
	})
	test("fields that cannot be right are refused at once", func() {
		wrong := func(field string, change func(*request)) {
			r := load(file, stamp+"-wrong")
			change(&r)
			_, err := call("Prove", putBytes(nil, 1, r.message()), time.Minute)
			must(status.Code(err) == codes.InvalidArgument && strings.Contains(err.Error(), field+": found "), "%v", err)
		}
		wrong("sector_size", func(r *request) { r.SectorSize = 4096 })
		wrong("registered_proof", func(r *request) { r.RegisteredProof = 99 })
		wrong("miner_id", func(r *request) { r.MinerId = 1 << 63 })
		wrong("randomness", func(r *request) { r.Randomness = r.Randomness[:31] })
		wrong("vanilla_proofs", func(r *request) { r.VanillaProofs = nil })
	})
	test("a size that is not said is that of the registered proof", func() {
		r := load(file, stamp)
		r.SectorSize = 0
		_, texts := prove(r, 10*time.Minute)
		_, again := prove(load(file, stamp), 10*time.Minute)
		must(bytes.Equal(again[3][0], texts[3][0]), "another proof")
	})
	test("the deadline of a Prove ends its job", func() {
		_, err := call("Prove", putBytes(nil, 1, load(file, stamp+"-late").message()), time.Millisecond)
		must(status.Code(err) == codes.DeadlineExceeded, "%v", err)
		for end := time.Now().Add(20 * time.Second); loadOfDaemon() > 0; time.Sleep(50 * time.Millisecond) {
			must(time.Now().Before(end), "its job goes on")
		}
	})
	test("a message beyond 256 MiB", func() {
		_, err := call("SubmitProof", putBytes(nil, 10, make([]byte, 256<<20)), time.Minute)
		must(status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "268435456"), "%v", err)
	})
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
