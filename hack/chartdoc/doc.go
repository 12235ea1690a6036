// Package chartdoc writes the README.md of a Helm chart, and the descriptions in its
// values.schema.json, from what the chart says of itself.
//
//  1. The title, description and version come from Chart.yaml.
//  2. README.in.md, if the chart has one, follows as it is: how the chart is used.
//  3. Every key of values.yaml has a row in a table: its path, type, default and the comment
//     that stands directly above it. In a comment of several lines a line that begins with
//     "-- " starts the description; what stands above it is left out. A comment that a blank
//     line parts from the key belongs to no key.
//  4. A map whose keys have no comments is one row; a key without a comment that no commented
//     map holds is an error: it would be undocumented.
//  5. The result depends on the chart's files alone; a test compares it with the files.
//  6. In values.schema.json every property that values.yaml has with a comment gets the comment as
//     its description. A key that the schema's properties lack is an error. All else in the
//     schema is written by hand, and keeps its order.
package chartdoc

//go:generate go run ./gen -charts ../../charts
