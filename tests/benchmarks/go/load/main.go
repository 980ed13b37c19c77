// A closed-loop load client: N connections over TLS 1.3, HTTP/1.1 with keep-alive, each sends its next review when it
// has the answer to the last one. It prints "ready" when all are connected and warm, waits for a line on standard
// input, runs, and prints one line of JSON. Standard library only.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// marker stands in the review wherever the number of the request belongs; both have the same length.
const marker = "@@@@@@@@"

type result struct {
	Requests int     `json:"requests"`
	Seconds  float64 `json:"seconds"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Error    string  `json:"error"`
}

// limits end the run: a last number if there is one, else a time.
type limits struct {
	last int64
	end  time.Time
}

// first is where the numbers of this run begin: no two runs may send the same reviews.
func first() int64 {
	return time.Now().UnixMilli() % 90_000_000
}

type worker struct {
	conn    *tls.Conn
	reader  *bufio.Reader
	request []byte
	places  []int
	took    []time.Duration
	err     error
}

func newWorker(address string, config *tls.Config, body []byte) (*worker, error) {
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("POST /mutate?timeout=10s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-apiserver-admission\r\n"+
		"Accept: application/json, */*\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	w := &worker{conn: conn, reader: bufio.NewReaderSize(conn, 64<<10), request: append([]byte(head), body...)}
	for at := 0; ; at += len(marker) {
		next := bytes.Index(w.request[at:], []byte(marker))
		if next < 0 {
			return w, nil
		}
		at += next
		w.places = append(w.places, at)
	}
}

// exchange sends one review and holds the answer against it: another request's answer is an error.
func (w *worker) exchange(number int64) error {
	digits := fmt.Appendf(nil, "%08d", number)
	for _, at := range w.places {
		copy(w.request[at:], digits)
	}
	if _, err := w.conn.Write(w.request); err != nil {
		return err
	}
	answer, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d", answer.StatusCode)
	}
	if !bytes.Contains(body, digits) || !bytes.Contains(body, []byte(`"patch":`)) {
		return errors.New("the answer has no patch, or belongs to another request")
	}
	return nil
}

func (w *worker) run(counter *atomic.Int64, until limits) {
	for w.err == nil {
		number := counter.Add(1)
		if until.last > 0 && number > until.last || until.last == 0 && time.Now().After(until.end) {
			return
		}
		started := time.Now()
		if w.err = w.exchange(number); w.err == nil {
			w.took = append(w.took, time.Since(started))
		}
	}
}

func summarize(workers []*worker, seconds float64) result {
	var took []time.Duration
	r := result{Seconds: seconds}
	for _, w := range workers {
		took = append(took, w.took...)
		if w.err != nil {
			r.Error = w.err.Error()
		}
	}
	slices.Sort(took)
	if r.Requests = len(took); r.Requests > 0 {
		r.P50 = float64(took[len(took)/2].Microseconds()) / 1000
		r.P99 = float64(took[len(took)*99/100].Microseconds()) / 1000
	}
	return r
}

func connect(address, ca, review string, count int) ([]*worker, error) {
	body, err := os.ReadFile(review)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS13}
	workers := make([]*worker, count)
	for i := range workers {
		if workers[i], err = newWorker(address, config, body); err != nil {
			return nil, err
		}
		if err = workers[i].exchange(0); err != nil {
			return nil, err
		}
	}
	return workers, nil
}

func main() {
	address := flag.String("address", "", "host:port of the server")
	ca := flag.String("ca", "", "file with the CA certificate")
	review := flag.String("review", "", "file with the body to send")
	concurrency := flag.Int("concurrency", 1, "number of connections")
	seconds := flag.Float64("seconds", 1, "length of the run")
	requests := flag.Int64("requests", 0, "number of requests, instead of a time")
	flag.Parse()
	workers, err := connect(*address, *ca, *review, *concurrency)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	var counter atomic.Int64
	counter.Store(first())
	var group sync.WaitGroup
	started := time.Now()
	until := limits{end: started.Add(time.Duration(*seconds * float64(time.Second)))}
	if *requests > 0 {
		until.last = counter.Load() + *requests
	}
	for _, w := range workers {
		group.Go(func() { w.run(&counter, until) })
	}
	group.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(summarize(workers, time.Since(started).Seconds())); err != nil {
		log.Fatal(err)
	}
}
