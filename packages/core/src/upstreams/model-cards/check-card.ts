import { isObject } from '../../base/json/json.ts'
import { known, type ReportProblem } from '../../base/problems.ts'
import type { ModelCard, ModelCardRow, ModelCardTable } from '../../formats/model-card.ts'

const isListOf = (words: string) => (value: unknown) =>
  Array.isArray(value) && value.every((word) => words.split(', ').includes(word))
const modalities = 'text, image, audio, video, document'
const efforts = 'none, minimal, low, medium, high, xhigh, max'

/** Kinds of values: the check, and what to write instead of a value that it rejects. */
const kinds = {
  text: [(value: unknown) => typeof value === 'string', 'a string'],
  flag: [(value: unknown) => typeof value === 'boolean', 'true or false'],
  tokens: [(value: unknown) => Number.isInteger(value) && Number(value) > 0, 'a whole number of tokens greater than 0'],
  price: [
    (value: unknown) => typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY,
    'a number from 0, or leave it out if it is unknown',
  ],
  modalities: [isListOf(modalities), `a list of ${modalities}`],
  efforts: [isListOf(efforts), `a list of ${efforts}`],
} as const

type Shape = keyof typeof kinds | { readonly [field: string]: Shape }

const cardShape = {
  name: 'text',
  contextWindow: 'tokens',
  maxInput: 'tokens',
  maxOutput: 'tokens',
  modalities: { input: 'modalities', output: 'modalities' },
  capabilities: {
    tools: 'flag',
    structuredOutputs: 'flag',
    caching: 'flag',
    reasoning: 'flag',
    efforts: 'efforts',
    reasoningBudget: 'flag',
  },
  prices: {
    currency: 'text',
    input: 'price',
    output: 'price',
    cachedInput: 'price',
    cacheWrite: 'price',
    image: 'price',
    minute: 'price',
    characters: 'price',
    request: 'price',
  },
} as const satisfies Record<keyof ModelCard, Shape>

const rowShape = { model: 'text', host: 'text', source: 'text', ...cardShape } as const satisfies Record<
  keyof ModelCardRow,
  Shape
>

/** Reports everything in a model card that cannot be meant. */
export function checkCard(card: unknown, where: string, report: ReportProblem): void {
  if (card !== undefined) check(card, cardShape, where, report)
}

/** Reports everything in `modelCards` that cannot be meant. */
export function checkModelCards(given: unknown, report: ReportProblem): void {
  if (given === undefined) return
  const { table, ...others } = isObject(given) ? given : { table: undefined }
  check(isObject(given) ? others : given, { prices: 'flag' }, 'modelCards', report, ['table', 'prices'])
  if (table === undefined || table === false) return
  const where = 'modelCards.table'
  const { cards } = isObject(table) ? table : { cards: undefined }
  if (!Array.isArray(cards)) {
    report(
      `${where} is not a table: write { checked: '2026-11-28', cards: [{ model: 'my-model', contextWindow: 8192 }] }, or false`,
    )
    return
  }
  check(table, { checked: 'text' }, where, report, ['checked', 'cards'] satisfies (keyof ModelCardTable)[])
  for (const [at, row] of (cards as readonly unknown[]).entries()) {
    check(row, rowShape, `${where}.cards[${at}]`, report)
    if (isObject(row) && row.model === undefined)
      report(`${where}.cards[${at}] has no model: set its name at the provider`)
  }
}

/** @param fields names that may be present. Default: those of the shape */
function check(
  value: unknown,
  shape: Shape,
  where: string,
  report: ReportProblem,
  fields: readonly string[] = Object.keys(shape),
): void {
  if (typeof shape === 'string') {
    const [isValid, expected] = kinds[shape]
    if (!isValid(value)) report(`${where} is ${JSON.stringify(value)}: write ${expected}`)
  } else if (isObject(value)) {
    known(value, fields, where, report)
    for (const [field, inner] of Object.entries(shape))
      if (value[field] !== undefined) check(value[field], inner, `${where}.${field}`, report)
  } else report(`${where} is not an object: write some of ${fields.join(', ')}`)
}
