/// <reference path="./virtual-assets.d.ts" />

import { assets, type pages } from 'virtual:console-assets'
import type { Inbound, Reply } from '@modelgate/core'

type Page = (typeof pages)[keyof typeof pages]

const json = 'application/json; charset=utf-8'

/** Sent with everything: nothing here is to be guessed at, framed or told to others. */
const guarded = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Nothing from elsewhere, no script but the package's own files and the page's own lines, which are named by their hash. */
const policyOf = (scripts: readonly string[]): string =>
  [
    "default-src 'none'",
    `script-src 'self' ${scripts.join(' ')}`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

/** A page: asked for again each time, but sent only when it has changed. */
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

/** Proxies that compress an answer mark its etag as weak; it stands for the same page. */
const isKnown = (inbound: Inbound, etag: string): boolean =>
  (inbound.header('if-none-match') ?? '').split(',').some((known) => known.trim().replace(/^W\//, '') === etag)

const byName = new Map(assets.map((asset) => [asset.name, asset]))

/** An asset; undefined: there is none of that name. Its name changes with its text, so it may be kept for good. */
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

/** Data for the pages, never kept. */
export const dataReply = (value: unknown): Reply => ({
  status: 200,
  headers: { 'content-type': json, 'cache-control': 'no-store', ...guarded },
  body: JSON.stringify(value),
})
