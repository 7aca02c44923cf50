# Provider configuration shoal.deep-sea stands for ProviderConfig deep-sea.

resource "reef_berth" "quay" {
  name = "quay"
  labels = [{
    key = "k"
  }]
  owners = []
  ports = {
    "http" = {
      number = 80
    }
  }
  size = 4
  tags = {
    my_key = "a"
  }
  timeouts = {
    create = "1m"
  }
  lifecycle {
    ignore_changes = [size]
  }
}

import {
  to = reef_berth.quay
  id = "reef-1"
}

resource "reef_chart" "bay" {
  title = "bay"
  anything = {
    my_key = [1, "a"]
  }
  legend {
    text = reef_berth.quay.endpoint
  }
  place = {
    latitude  = 53.5
    longitude = 8
    name      = "reef-1.reef.example"
    old_names = ["x"]
  }
  printed  = false
  revision = "r"
  lifecycle {
    ignore_changes = [revision]
  }
}

import {
  to = reef_chart.bay
  id = "chart-2"
}

resource "reef_upgraded" "old" {
  name    = "old"
  size_gb = 8
}

import {
  to = reef_upgraded.old
  id = "old-1"
}

resource "shoal_anchor" "each-a-b-326d44c7" {
  berth_id = shoal_berth.many-1.id
  weight   = 5
}

import {
  to = shoal_anchor.each-a-b-326d44c7
  id = "anchor-1"
}

resource "shoal_anchor" "each-a-b-ab5b9c29" {
  berth_id = shoal_berth.fleet-north-sea-main.id
}

import {
  to = shoal_anchor.each-a-b-ab5b9c29
  id = "anchor-2"
}

resource "shoal_anchor" "each-far" {
  berth_id = "berth-10"
}

import {
  to = shoal_anchor.each-far
  id = "anchor-3"
}

resource "shoal_berth" "fleet-north-sea-main" {
  name  = "north"
  notes = "$${not} a template"
  size  = 3
}

import {
  to = shoal_berth.fleet-north-sea-main
  id = "berth-1"
}

resource "shoal_berth" "many-0" {
  name = "many"
  size = 1
  tags = {
    place = "pier"
  }
  timeouts {
    create = "5m"
  }
}

import {
  to = shoal_berth.many-0
  id = "berth-10"
}

resource "shoal_berth" "many-1" {
  name = "many"
  size = 1
  tags = {}
}

import {
  to = shoal_berth.many-1
  id = "berth-11"
}

resource "shoal_chart" "maps-sea" {
  provider = shoal.deep-sea
  title    = shoal_berth.fleet-north-sea-main.address
  buoy {
    colour = "red"
    light {
      period = 3
    }
  }
  languages = ["de", "en"]
  layer {
    name   = "depth"
    colour = "blue"
    point {
      x = 1
      y = 2
    }
    token = var.shoal_chart_maps-sea_layer_0_token
  }
  layer {
    name   = shoal_berth.fleet-north-sea-main.id
    colour = ""
  }
  revision          = "r1"
  scale             = 0.5
  secret_wo_version = 2
  lifecycle {
    ignore_changes = [revision]
  }
}

import {
  to = shoal_chart.maps-sea
  id = "chart-1"
}

variable "shoal_chart_maps-sea_layer_0_token" {
  description = "Key layer.0.token of Secret default/shoal-chart-maps-sea"
  type        = string
  sensitive   = true
}
