// The limit to measure a migration by: a loop that patches every object, and does nothing else.
//
// It lists the names, uids and resource versions of all objects first; only the patches are timed.
// What it prints is one line of JSON.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	partial     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	partialList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	pageSize    = 500
)

type object struct {
	Metadata struct {
		Name            string `json:"name"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

type page struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []object `json:"items"`
}

type result struct {
	Objects       int     `json:"objects"`
	Seconds       float64 `json:"seconds"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	SentBytes     int64   `json:"sent_bytes"`
	ReceivedBytes int64   `json:"received_bytes"`
}

type countingConn struct {
	net.Conn
	sent, received *atomic.Int64
}

func (c countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

func (c countingConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

type loop struct {
	client         *http.Client
	collection     string
	token          string
	sent, received atomic.Int64
}

func newLoop(collection, ca, token string, workers int, http2 bool) *loop {
	pem, err := os.ReadFile(ca)
	if err != nil {
		log.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	made := &loop{collection: collection, token: token}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool},
		MaxIdleConnsPerHost: workers,
		DisableCompression:  true,
		ForceAttemptHTTP2:   http2,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return countingConn{conn, &made.sent, &made.received}, nil
		},
	}
	if !http2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	made.client = &http.Client{Transport: transport}
	return made
}

func (l *loop) do(method, address, accept, body string) ([]byte, error) {
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	request.Header.Set("Accept", accept)
	if body != "" {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := l.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s", method, address, response.Status)
	}
	return content, err
}

func (l *loop) list() ([]object, error) {
	var all []object
	token := ""
	for {
		query := url.Values{"limit": {fmt.Sprint(pageSize)}}
		if token != "" {
			query.Set("continue", token)
		}
		content, err := l.do(http.MethodGet, l.collection+"?"+query.Encode(), partialList, "")
		if err != nil {
			return nil, err
		}
		var one page
		if err := json.Unmarshal(content, &one); err != nil {
			return nil, err
		}
		all = append(all, one.Items...)
		if token = one.Metadata.Continue; token == "" {
			return all, nil
		}
	}
}

func (l *loop) patch(one object) error {
	body := fmt.Sprintf(`{"metadata":{"uid":%q,"resourceVersion":%q}}`,
		one.Metadata.UID, one.Metadata.ResourceVersion)
	_, err := l.do(http.MethodPatch, l.collection+"/"+one.Metadata.Name, partial, body)
	return err
}

func (l *loop) patchAll(objects []object, workers int) result {
	sent, received, cpu := l.sent.Load(), l.received.Load(), cpuSeconds()
	started := time.Now()
	work := make(chan object)
	var group sync.WaitGroup
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for one := range work {
				if err := l.patch(one); err != nil {
					log.Fatal(err)
				}
			}
		}()
	}
	for _, one := range objects {
		work <- one
	}
	close(work)
	group.Wait()
	return result{
		Objects:       len(objects),
		Seconds:       time.Since(started).Seconds(),
		CPUSeconds:    cpuSeconds() - cpu,
		SentBytes:     l.sent.Load() - sent,
		ReceivedBytes: l.received.Load() - received,
	}
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	used := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return used.Seconds()
}

func main() {
	log.SetFlags(0)
	collection := flag.String("collection", "", "URL of the objects, at the storage version")
	ca := flag.String("ca", "", "PEM file of the server's authority")
	token := flag.String("token", "", "bearer token")
	workers := flag.Int("workers", 16, "patches at a time")
	http2 := flag.Bool("http2", false, "one connection instead of one a worker")
	skip := flag.Int("skip", 0, "leave out so many objects at the beginning")
	take := flag.Int("take", 0, "patch so many; 0 for all")
	flag.Parse()
	made := newLoop(*collection, *ca, *token, *workers, *http2)
	objects, err := made.list()
	if err != nil {
		log.Fatal(err)
	}
	objects = objects[min(*skip, len(objects)):]
	if *take > 0 {
		objects = objects[:min(*take, len(objects))]
	}
	if err := json.NewEncoder(os.Stdout).Encode(made.patchAll(objects, *workers)); err != nil {
		log.Fatal(err)
	}
}
