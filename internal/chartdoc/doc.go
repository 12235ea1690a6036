// Package chartdoc writes the README.md of a Helm chart from what the chart says of itself.
//
//  1. The title, description and version come from Chart.yaml.
//  2. README.in.md, if the chart has one, follows as it is: how the chart is used.
//  3. Every key of values.yaml has a row in a table: its path, type, default and the comment
//     that stands directly above it. In a comment of several lines a line that begins with
//     "-- " starts the description; what stands above it is left out. A comment that a blank
//     line parts from the key belongs to no key.
//  4. A map whose keys have no comments is one row; a key without a comment that no commented
//     map holds is an error: it would be undocumented.
//  5. The result depends on the chart's files alone; a test compares it with README.md.
package chartdoc

//go:generate go run ./gen -charts ../../charts
