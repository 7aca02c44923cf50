# Provider configuration shoal.clusterproviderconfig_default stands for ClusterProviderConfig default.
# Provider configuration shoal.providerconfig_default stands for ProviderConfig default.
# Provider configuration shoal.office_default stands for ProviderConfig office/default.
# Provider configuration shoal.shop_default stands for ProviderConfig shop/default.
# Provider configuration shoal.east_sea stands for ProviderConfig east.sea.
# Provider configuration shoal.only stands for ProviderConfig office/only.
# Provider configuration shoal.east_sea_ stands for ProviderConfig east/sea.
# Provider configuration shoal.west_sea stands for ProviderConfig west/sea.

resource "reef_berth" "b9" {
  name = "b"
}

import {
  to = reef_berth.b9
  id = "b"
}

resource "shoal_berth" "b0" {
  provider = shoal.providerconfig_default
  name     = "b"
}

import {
  to = shoal_berth.b0
  id = "b"
}

resource "shoal_berth" "b1" {
  provider = shoal.east_sea
  name     = "b"
}

import {
  to = shoal_berth.b1
  id = "b"
}

resource "shoal_berth" "b7" {
  provider = shoal.east_sea_
  name     = "b"
}

import {
  to = shoal_berth.b7
  id = "b"
}

resource "shoal_berth" "b5" {
  provider = shoal.office_default
  name     = "b"
}

import {
  to = shoal_berth.b5
  id = "b"
}

resource "shoal_berth" "b6" {
  provider = shoal.only
  name     = "b"
}

import {
  to = shoal_berth.b6
  id = "b"
}

resource "shoal_berth" "b2" {
  provider = shoal.clusterproviderconfig_default
  name     = "b"
}

import {
  to = shoal_berth.b2
  id = "b"
}

resource "shoal_berth" "b3" {
  provider = shoal.clusterproviderconfig_default
  name     = "b"
}

import {
  to = shoal_berth.b3
  id = "b"
}

resource "shoal_berth" "b4" {
  provider = shoal.shop_default
  name     = "b"
}

import {
  to = shoal_berth.b4
  id = "b"
}

resource "shoal_berth" "b8" {
  provider = shoal.west_sea
  name     = "b"
}

import {
  to = shoal_berth.b8
  id = "b"
}
