// biome-ignore-all lint/correctness/noNodejsModules: only tests read this
// biome-ignore-all lint/style/noRestrictedGlobals: only tests read this
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createParser } from 'eventsource-parser'
import { createReport } from '../../losses.ts'
import type { ExchangeContext, SseEvent, TargetTraits } from '../codec.ts'
import type { Json, JsonObject, ModelRequest, Report } from '../ir.ts'
import { isObject } from '../shared/reader.ts'

const shared = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../../shared', import.meta.url))
const index = `${shared}/fixtures/INDEX.tsv`
export const present = existsSync(index)
// biome-ignore lint/suspicious/noConsole: one clear line about what is skipped
if (!present) console.log('Recorded gemini traffic is not beside the checkout (or in MODELGATE_SHARED): skipped.')

export interface Exchange {
  path: string
  model: string
  request: { url: string; body: Json }
  response: { status: number; body: string }
}

export function readExchanges(): Exchange[] {
  if (!present) return []
  return readFileSync(index, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .filter((columns) => columns[6] === 'gemini')
    .map(([path = '']) => {
      const { request, response } = JSON.parse(readFileSync(`${shared}/fixtures/${path}`, 'utf8'))
      const model = /models\/([^:]+):/.exec(request.url)?.[1] ?? 'm'
      return { path, model, request, response: { ...response, body: String(response.body ?? '') } }
    })
}

export interface ClientRequest {
  name: string
  url: string
  body: JsonObject
}

/** Every generateContent request that a real client was seen to send. */
export function readClientRequests(): ClientRequest[] {
  const folder = `${shared}/client-requests`
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((name) => {
      const { requests } = JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')) as {
        requests: { url: string; body: Json }[]
      }
      return requests.flatMap(({ url, body }) =>
        /:(streamG|g)enerateContent/.test(url) && isObject(body) ? [{ name, url, body }] : [],
      )
    })
}

export const isStream = (body: string): boolean => /^\s*data:/.test(body)
export function eventsOf(text: string): SseEvent[] {
  const events: SseEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) })
  parser.feed(`${text.replace(/^\s+/, '')}\n\n`)
  return events
}

export function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

export const target: TargetTraits = { model: 'm', quirks: {} }
export function contextFor(
  request: Partial<ModelRequest> = {},
): ExchangeContext & { report: Report; target: TargetTraits } {
  let ids = 0
  return {
    report: createReport(),
    newId: (prefix) => `${prefix}${++ids}`,
    now: () => 1_700_000_000,
    request: { model: 'm', turns: [], stream: false, ...request },
    target,
  }
}

/** A list, also where a single item stands for one. */
export const list = (value: Json | undefined): Json[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]
