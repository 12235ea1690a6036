// Command terraform-provider-helm stands in for the provider hashicorp/helm (package standin).
package main

import (
	"fmt"
	"os"

	standin "github.com/argosy-hub/argosy/test/e2e/components/cloud-standin"
)

func main() {
	if err := standin.ServeHelm(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
