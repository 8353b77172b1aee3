// biome-ignore-all lint/correctness/noNodejsModules: only tests read this
// biome-ignore-all lint/style/noRestrictedGlobals: only tests read this
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createParser } from 'eventsource-parser'
import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { SseEvent } from '../../http/sse/sse.ts'

const shared = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../../shared', import.meta.url))
const index = `${shared}/fixtures/INDEX.tsv`

/** True if recorded traffic exists next to the checkout or in MODELGATE_SHARED. */
export const present = existsSync(index)
// biome-ignore lint/suspicious/noConsole: one clear line about what is skipped
if (!present) console.log('No recorded traffic next to the checkout or in MODELGATE_SHARED: skipped.')

export interface Recorded {
  readonly path: string
  readonly request: { readonly url: string; readonly body: Json }
  readonly response: { readonly status: number; readonly body: string }
  readonly features: readonly string[]
}

/** @param format name of the format in the index, such as `openai-chat` */
export function readRecorded(format: string): Recorded[] {
  if (!present) return []
  return readFileSync(index, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .filter((columns) => columns[6] === format)
    .map((columns) => {
      const [path = ''] = columns
      const { request, response } = JSON.parse(readFileSync(`${shared}/fixtures/${path}`, 'utf8'))
      const body = String(response.body ?? '')
      return { path, request, response: { ...response, body }, features: (columns[11] ?? '').split(',') }
    })
}

/** Recorded request of a real client. */
export interface ClientRequest {
  /** File name and position of the request in it. */
  readonly path: string
  readonly url: string
  readonly body: JsonObject
}

/** @param isOurs whether a request to this URL is one of the format */
export function readClientRequests(isOurs: (url: string) => boolean): ClientRequest[] {
  const folder = `${shared}/client-requests`
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => {
      const { requests } = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as {
        requests: { url: string; body: Json }[]
      }
      return requests.flatMap(({ url, body }, position) =>
        isOurs(url) && isObject(body) ? [{ path: `${file}#${position}`, url, body }] : [],
      )
    })
}

export const isStream = (body: string): boolean => /^\s*(:|data:|event:)/.test(body)

export function eventsOf(text: string): SseEvent[] {
  const events: SseEvent[] = []
  const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) })
  parser.feed(`${text.replace(/^\s+/, '')}\n\n`)
  return events
}

export function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
