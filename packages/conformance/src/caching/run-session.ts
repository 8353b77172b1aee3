import type { Gateway } from '@modelgate/core'
import type { Prompt, Script } from '@modelgate/testing'
import { isObject, type Json, type JsonObject, objectOf, parseJson } from '../base/json.ts'
import type { SessionClient, SessionTool } from './session-clients.ts'

/** Tools whose schemas use what translations lower: unions, references, formats, bounds and optional fields. */
const sessionTools: readonly SessionTool[] = [
  {
    name: 'read_file',
    description: 'Reads a file of the project.',
    schema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'relative to the project' },
        range: { anyOf: [{ type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 }, { type: 'null' }] },
      },
      required: ['path'],
      additionalProperties: false,
    },
  },
  {
    name: 'search',
    description: 'Finds a text in all files.',
    schema: {
      type: 'object',
      $defs: { glob: { type: 'string', pattern: '^[^/]' } },
      properties: {
        text: { type: 'string' },
        files: { type: 'array', items: { $ref: '#/$defs/glob' } },
        limit: { type: 'integer', minimum: 1, default: 20 },
      },
      required: ['text', 'files'],
    },
  },
]

/** Instructions with the length of an agent's. */
const sessionSystem = 'You change the code of a project with tools. Read a file before you change it. '.repeat(60)

const words = 'the parser reads tokens and returns a tree that later steps check before they write code'.split(' ')
const textFor = (seed: string, length: number): string =>
  Array.from({ length }, (_, index) => words[(index * 7 + seed.length * 3 + index ** 2) % words.length]).join(' ')

/** The model of the sessions: it thinks, calls one tool or two at once, and gives an answer after every fourth turn. */
export function agentModel({ turns }: Pick<Prompt, 'turns'>): Script {
  const turn = turns.filter(({ role }) => role === 'assistant').length
  if (turn % 4 === 3) return { text: `Step ${turn} is done. ${textFor(`answer ${turn}`, 40)}` }
  const read = { name: 'read_file', input: { path: `src/file-${turn}.ts`, range: turn % 2 === 0 ? null : [1, 80] } }
  const search = { name: 'search', input: { text: `symbol ${turn}`, files: ['*.ts'], limit: 5 } }
  return {
    thinking: textFor(`thought ${turn}`, 12),
    ...(turn % 4 === 1 ? { text: 'Two places matter here.' } : {}),
    toolCalls: turn % 4 === 1 ? [read, search] : [turn % 4 === 0 ? read : search],
  }
}

/** Result of a session. */
export interface SessionResult {
  readonly bodies: readonly JsonObject[]
  readonly input: number
  /** Input tokens that were read from the cache, as the client sees them. */
  readonly read: number
}

/** Runs a session of an agent through a gateway. Throws if a call fails. */
export async function runSession(
  gateway: Pick<Gateway, 'fetch'>,
  client: SessionClient,
  turns = 20,
  headers: Readonly<Record<string, string>> = {},
): Promise<SessionResult> {
  const results = (name: string): string => `${name}: ${textFor(`${name} ${bodies.length}`, 120)}`
  const question = (): string => `Question ${bodies.length}: ${textFor(`question ${bodies.length}`, 20)}`
  const bodies: JsonObject[] = []
  let body = client.begin({ model: 'demo', system: sessionSystem, tools: sessionTools }, question())
  let input = 0
  let read = 0
  for (let turn = 0; turn < turns; turn++) {
    bodies.push(body)
    const response = await gateway.fetch(
      new Request(`http://gateway.test${client.path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...client.headers, ...headers },
        body: JSON.stringify(body),
      }),
    )
    const text = await response.text()
    if (response.status !== 200) throw new Error(`turn ${turn}: ${response.status} ${text}`)
    const answer = objectOf(parseJson(text))
    const used = client.usage(answer)
    input += used.input
    read += used.read
    body = client.proceed(body, answer, results, question())
  }
  return { bodies, input, read }
}

/** Top-level fields in which a request keeps its conversation. */
const conversationFields = ['messages', 'input', 'contents']
const contentFields = ['content', 'parts']

/** Returns a value without its cache marks, which move from turn to turn and are not part of the prompt. */
function withoutMarks(value: Json): Json {
  if (Array.isArray(value)) return value.filter((item) => !isCachePoint(item)).map(withoutMarks)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'cache_control' && key !== 'prompt_cache_breakpoint')
      .map(([key, inner]) => [key, withoutMarks(inner)]),
  )
}
const isCachePoint = (value: Json): boolean => isObject(value) && value.cachePoint !== undefined

/** The parts of a request: its settings, and the pieces of its prompt in their order. */
export interface PromptPieces {
  /** All fields but the conversation, as JSON. */
  readonly settings: string
  /** The content of each turn, as JSON with the turn's other fields. */
  readonly pieces: readonly string[]
}

/** Cuts a request of any format into pieces. A request continues another one if its pieces begin with those of the other. */
export function promptPieces(body: JsonObject): PromptPieces {
  const { model: _, ...rest } = objectOf(withoutMarks(body))
  const settings: JsonObject = {}
  const pieces: string[] = []
  for (const [field, value] of Object.entries(rest)) {
    if (!conversationFields.includes(field) || !Array.isArray(value)) {
      settings[field] = value
      continue
    }
    for (const turn of value) pieces.push(...piecesOf(objectOf(turn)))
  }
  return { settings: JSON.stringify(settings), pieces }
}

function piecesOf(turn: JsonObject): string[] {
  const field = contentFields.find((name) => turn[name] !== undefined)
  if (field === undefined) return [JSON.stringify(turn)]
  const { [field]: whole, ...head } = turn
  // A text is short for a list with this text alone.
  const content = typeof whole === 'string' ? [{ type: 'text', text: whole }] : whole
  if (!Array.isArray(content)) return [JSON.stringify(turn)]
  return content.map((block) => JSON.stringify(head) + JSON.stringify(block))
}
