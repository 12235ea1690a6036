variable "name" {
  description = "Name of the member, as in its file; also of the cluster in EKS"
  type        = string
}

variable "hub" {
  description = "The hub: its name, its region, and a role in its account that may read its SSM parameters (empty: the same account)"
  type = object({
    name            = string
    region          = string
    reader_role_arn = optional(string, "")
  })
}

variable "region" {
  description = "Region of the cluster"
  type        = string
}

variable "vpc_cidr" {
  description = "Addresses of the cluster's network"
  type        = string
}

variable "kubernetes_version" {
  description = "Version of the control plane"
  type        = string
  default     = "1.36"
}

variable "addons" {
  description = "Facts that become labels of the cluster Secret"
  type        = map(string)
  default     = {}
}

variable "metadata" {
  description = "Facts that become its annotations"
  type        = map(string)
  default     = {}
}

variable "identities" {
  description = "Components that act in AWS and whose role Terraform makes, by name. Those whose role the fleet makes (charts/aws-identity with ACK) are not among them"
  type = map(object({
    namespace       = string
    service_account = string
    policy_arns     = list(string)
  }))
  default = {}
}
