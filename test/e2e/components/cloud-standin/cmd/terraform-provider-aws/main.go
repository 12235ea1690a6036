// Command terraform-provider-aws stands in for the provider hashicorp/aws (package standin).
package main

import (
	"fmt"
	"os"

	standin "github.com/argosy-hub/argosy/test/e2e/components/cloud-standin"
)

func main() {
	if err := standin.ServeAWS(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
