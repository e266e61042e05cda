package main

import (
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"net/url"
	"time"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// readers read a text by a grammar of Go's standard library or of the API machinery.
var readers = map[string]func(text string, asked question) (answer, error){
	"url.Parse":            func(text string, _ question) (answer, error) { return partsOf(url.Parse(text)) },
	"url.ParseRequestURI":  func(text string, _ question) (answer, error) { return partsOf(url.ParseRequestURI(text)) },
	"netip.ParseAddr":      readAddress,
	"time.Parse":           readTime,
	"time.ParseDuration":   func(text string, _ question) (answer, error) { return nanosecondsOf(time.ParseDuration(text)) },
	"strfmt.ParseDuration": func(text string, _ question) (answer, error) { return nanosecondsOf(strfmt.ParseDuration(text)) },
	"strfmt.ParseDateTime": readDateTime,
	"strfmt.Validates":     validates,
}

// read answers a question about a text, and nothing if it is asked for something else.
func read(asked question) answer {
	reader, known := readers[asked.Op]
	if !known {
		return nil
	}
	var text string
	if err := json.Unmarshal(asked.Input, &text); err != nil {
		return answer{"failure": err.Error()}
	}
	parts, err := reader(text, asked)
	if err != nil {
		return answer{"error": err.Error()}
	}
	return parts
}

func partsOf(read *url.URL, err error) (answer, error) {
	if err != nil {
		return nil, err
	}
	parts := answer{
		"scheme":      read.Scheme,
		"opaque":      read.Opaque,
		"host":        read.Host,
		"hostname":    read.Hostname(),
		"port":        read.Port(),
		"path":        read.Path,
		"escapedPath": read.EscapedPath(),
		"rawQuery":    read.RawQuery,
		"query":       read.Query(),
		"fragment":    read.Fragment,
		"text":        read.String(),
	}
	if read.User != nil {
		parts["user"] = read.User.String()
	}
	return parts, nil
}

func readAddress(text string, _ question) (answer, error) {
	read, err := netip.ParseAddr(text)
	if err != nil {
		return nil, err
	}
	return answer{"address": hex.EncodeToString(read.AsSlice()), "zone": read.Zone()}, nil
}

func readTime(text string, asked question) (answer, error) {
	return timeOf(time.Parse(asked.Options.Layout, text))
}

func readDateTime(text string, _ question) (answer, error) {
	read, err := strfmt.ParseDateTime(text)
	return timeOf(time.Time(read), err)
}

func timeOf(read time.Time, err error) (answer, error) {
	if err != nil {
		return nil, err
	}
	_, offset := read.Zone()
	return answer{"seconds": read.Unix(), "nanoseconds": read.Nanosecond(), "offset": offset}, nil
}

func nanosecondsOf(read time.Duration, err error) (answer, error) {
	return answer{"nanoseconds": int64(read)}, err
}

func validates(text string, asked question) (answer, error) {
	return answer{"valid": strfmt.Default.Validates(asked.Options.Format, text)}, nil
}
