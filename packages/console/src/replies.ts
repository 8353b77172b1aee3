/// <reference path="./virtual-assets.d.ts" />

import { assets, type pages } from 'virtual:console-assets'
import type { Inbound, PluginRoute, Reply } from '@modelgate/core'

type Page = (typeof pages)[keyof typeof pages]

const json = 'application/json; charset=utf-8'

/** Headers of every response: no sniffing, no framing, no referrer. */
const guarded = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Returns the content security policy: own files only, and inline scripts by their hash. */
const policyOf = (scripts: readonly string[]): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${scripts.join(' ')}`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    // Generated and recorded audio. A blob is data of the page itself.
    'media-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

/** Returns a page with revalidation: clients ask each time and get it only when it has changed. */
export function pageReply({ html, scripts, etag }: Page, inbound: Inbound): Reply {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyOf(scripts),
    'cross-origin-opener-policy': 'same-origin',
    'x-frame-options': 'DENY',
    'cache-control': 'no-cache',
    etag,
    ...guarded,
  }
  return isKnown(inbound, etag) ? { status: 304, headers, body: null } : { status: 200, headers, body: html }
}

/** Creates the handler of a page `/console/{name}`. Its addresses are relative, so a trailing slash would break them. */
export const subpage =
  (page: Page, name: string): PluginRoute['handle'] =>
  (inbound) =>
    inbound.path.endsWith('/')
      ? { status: 308, headers: { location: `../${name}`, 'cache-control': 'no-cache' }, body: null }
      : pageReply(page, inbound)

/** Proxies that compress a response make its etag weak; it still names the same page. */
const isKnown = (inbound: Inbound, etag: string): boolean =>
  (inbound.header('if-none-match') ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag)

const byName = new Map(assets.map((asset) => [asset.name, asset]))

/** Returns an asset, or undefined if there is none of that name. Its name contains a hash of its content, so it is immutable. */
export function assetReply(name: string): Reply | undefined {
  const asset = byName.get(name)
  if (asset === undefined) return undefined
  return {
    status: 200,
    headers: {
      'content-type': asset.type,
      'cache-control': 'public, max-age=31536000, immutable',
      ...guarded,
    },
    body: asset.body,
  }
}

/** Returns JSON for the pages, never cached. */
export const dataReply = (value: unknown): Reply => ({
  status: 200,
  headers: { 'content-type': json, 'cache-control': 'no-store', ...guarded },
  body: JSON.stringify(value),
})

/** Returns a CSV file to save, never cached. */
export const csvReply = (csv: string, file: string): Reply => ({
  status: 200,
  headers: {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${file}"`,
    'cache-control': 'no-store',
    ...guarded,
  },
  body: csv,
})

/** Returns server-sent events, never cached, and not buffered by proxies. */
export const streamReply = (body: AsyncIterable<Uint8Array>): Reply => ({
  status: 200,
  headers: {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    ...guarded,
  },
  body,
})
