import type { ModelDescription } from '@modelgate/core'
import type { Models } from '../../../models.ts'
import { chat } from '../formats/chat.ts'
import type { Json } from '../formats/format.ts'
import { errorPiece } from '../formats/read.ts'
import { credentialOf } from './send.ts'

export type Checked =
  | { readonly state: 'unchecked' | 'checking' }
  | { readonly state: 'good'; readonly models: readonly ModelDescription[] }
  /** The API's own message, if any. */
  | { readonly state: 'bad'; readonly message: string; readonly status: number | undefined }

/** Fetches the models that a token may use. Never rejects. */
export async function checkToken(gateway: string, token: string): Promise<Checked> {
  if (!/^[\x21-\x7e]*$/.test(token))
    return { state: 'bad', message: 'The token contains invalid characters. Paste it again.', status: undefined }
  try {
    const headers = credentialOf(chat, token)
    const response = await fetch(`${gateway}/console/models.json`, { headers, cache: 'no-store' })
    const { status, ok } = response
    const body: unknown = await response.json().catch(() => null)
    if (ok) return { state: 'good', models: (body as Models).models }
    const piece = errorPiece(body as Json, `The gateway returned status ${status}.`)
    return { state: 'bad', message: piece.type === 'error' ? piece.message : '', status }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { state: 'bad', message: `The gateway could not be reached: ${why}`, status: undefined }
  }
}

/** Returns the models for an operation, such as `generate`. */
export const modelsFor = (
  models: readonly ModelDescription[],
  operation: ModelDescription['operations'][number],
): readonly ModelDescription[] => models.filter(({ operations }) => operations.includes(operation))

/** Returns the known facts of a model in a few words: limits, content, features, price. */
export function modelFacts(model: ModelDescription): readonly string[] {
  const { name, contextWindow, maxOutput, modalities, capabilities = {}, prices } = model
  const content = modalities?.input?.flatMap((kind) => contentWords[kind] ?? []) ?? []
  return [
    ...(name === undefined ? [] : [name]),
    ...(contextWindow === undefined ? [] : [`${shortCount(contextWindow)} context`]),
    ...(maxOutput === undefined ? [] : [`${shortCount(maxOutput)} output`]),
    ...(content.length === 0 ? [] : [content.join(', ')]),
    ...reasoningFacts(model),
    ...(capabilities.tools === false ? ['no tools'] : []),
    ...(capabilities.structuredOutputs === false ? ['no JSON schemas'] : []),
    ...priceFacts(prices ?? []),
  ]
}

/** Input in addition to text. */
const contentWords: Readonly<Partial<Record<string, string>>> = {
  image: 'images',
  audio: 'audio',
  video: 'video',
  document: 'documents',
}

function reasoningFacts({ efforts, capabilities }: ModelDescription): readonly string[] {
  if (efforts !== undefined) return [efforts.length === 0 ? 'no reasoning' : `reasoning: ${efforts.join(', ')}`]
  if (capabilities?.reasoning === undefined) return []
  return [capabilities.reasoning ? 'reasoning' : 'no reasoning']
}

const shortCount = (tokens: number): string =>
  new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(tokens)

const priced = [
  ['input', 'in / M'],
  ['output', 'out / M'],
  ['image', 'per image'],
  ['minute', 'per minute'],
  ['characters', '/ M characters'],
] as const

/** One text for each kind of price; targets with different prices give a range. */
function priceFacts(prices: NonNullable<ModelDescription['prices']>): readonly string[] {
  const [first] = prices
  if (first === undefined) return []
  return priced.flatMap(([field, unit]) => {
    // Amounts of different currencies have no range.
    const amounts = prices.filter(({ currency }) => currency === first.currency).flatMap((price) => price[field] ?? [])
    if (amounts.length === 0) return []
    const [low, high] = [Math.min(...amounts), Math.max(...amounts)].map((amount) => money(amount, first.currency))
    return [`${low === high ? low : `${low}–${high}`} ${unit}`]
  })
}

function money(amount: number, currency: string): string {
  try {
    const digits = { minimumFractionDigits: amount % 1 === 0 ? 0 : 2, maximumFractionDigits: 6 }
    return new Intl.NumberFormat('en', { style: 'currency', currency, ...digits }).format(amount)
  } catch {
    // A currency is any text of an operator's plugin.
    return `${amount} ${currency}`
  }
}
