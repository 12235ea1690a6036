variable "name" {
  description = "Name of the hub: of the cluster in EKS and in the fleet; by default the workspace's"
  type        = string
  default     = null
  validation {
    condition     = terraform.workspace == "default" ? var.name != null : coalesce(var.name, terraform.workspace) == terraform.workspace
    error_message = "name: expected the name of the workspace, ${terraform.workspace}, or none; in the workspace default, a name."
  }
  validation {
    condition     = can(regex("^[a-z0-9]([-a-z0-9]{0,45}[a-z0-9])?$", coalesce(var.name, terraform.workspace)))
    error_message = "name: expected lower-case letters, digits and inner hyphens, at most 47 characters: roles are named <name>-external-secrets, and IAM takes 64."
  }
}

variable "region" {
  description = "Region of the hub"
  type        = string
}

variable "vpc_cidr" {
  description = "Addresses of the hub's network; the spokes' must not overlap where they are peered"
  type        = string
  default     = "10.0.0.0/16"
}

variable "kubernetes_version" {
  description = "Version of the control plane"
  type        = string
  default     = "1.36"
}

variable "fleet" {
  description = "The fleet's repository, as charts/hub has it"
  type = object({
    url      = string
    revision = optional(string, "main")
  })
}

variable "github_app" {
  description = "GitHub App that reads the fleet's repository, with its private key as PEM; null: no credential is needed, or you bring one"
  type        = object({ id = string, installation_id = string, private_key = string })
  default     = null
  sensitive   = true
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

variable "argosy_version" {
  description = "Version of charts/hub"
  type        = string
}

variable "chart_repository" {
  description = "Where charts/hub is published"
  type        = string
}

variable "argocd_version" {
  description = "Version of the chart argo-cd; values/argo-cd.yaml has that of Argo CD"
  type        = string
  default     = "10.1.1"
}

variable "external_secrets_version" {
  description = "Version of the chart external-secrets"
  type        = string
  default     = "0.20.4"
}

variable "spoke_role_arns" {
  description = "Roles of the spokes that Argo CD may assume"
  type        = list(string)
  default     = ["arn:aws:iam::*:role/fleet-spoke-*"]
}

variable "secret_arns" {
  description = "Secrets that External Secrets may read; by default the records <name>/* of all accounts and the repository credentials github/* of the hub's own"
  type        = list(string)
  default     = null
}

variable "key_arns" {
  description = "Keys of the records; by default all keys of the hub's region"
  type        = list(string)
  default     = null
}
