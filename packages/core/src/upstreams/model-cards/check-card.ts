import { isObject } from '../../base/json/json.ts'
import { known, type ReportProblem } from '../../base/problems.ts'
import type { ModelCard, ModelCardRow, ModelCardTable } from '../../formats/model-card.ts'

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
const modalities = ['text', 'image', 'audio', 'video', 'document'] as const
const limits = ['contextWindow', 'maxInput', 'maxOutput'] as const
const flags = ['tools', 'structuredOutputs', 'caching', 'reasoning', 'reasoningBudget'] as const
const amounts = ['input', 'output', 'cachedInput', 'cacheWrite', 'image', 'minute', 'characters', 'request'] as const
const cardFields = ['name', ...limits, 'modalities', 'capabilities', 'prices'] as const satisfies (keyof ModelCard)[]
const rowFields = ['model', 'host', 'source', ...cardFields] as const satisfies (keyof ModelCardRow)[]

/** Reports everything in a model card that cannot be meant. */
export function checkCard(card: unknown, where: string, report: ReportProblem): void {
  if (card === undefined) return
  if (!isObject(card))
    report(`${where} is not an object: write facts such as { contextWindow: 200_000, maxOutput: 8192 }`)
  else checkFacts(card, cardFields, where, report)
}

/** Reports everything in `modelCards` that cannot be meant. */
export function checkModelCards(given: unknown, report: ReportProblem): void {
  if (given === undefined) return
  if (!isObject(given)) {
    report('modelCards is not an object: write { table, prices }')
    return
  }
  known(given, ['table', 'prices'], 'modelCards', report)
  const { table, prices } = given
  if (prices !== undefined && typeof prices !== 'boolean')
    report(`modelCards.prices is ${String(prices)}: write true or false`)
  if (table === undefined || table === false) return
  const where = 'modelCards.table'
  if (!isObject(table) || typeof table.checked !== 'string' || !Array.isArray(table.cards)) {
    report(
      `${where} is not a table: write { checked: '2026-11-28', cards: [{ model: 'my-model', contextWindow: 32_768 }] }, or false`,
    )
    return
  }
  known(table, ['checked', 'cards'] satisfies (keyof ModelCardTable)[], where, report)
  for (const [at, row] of (table.cards as readonly unknown[]).entries()) {
    const place = `${where}.cards[${at}]`
    if (!isObject(row) || typeof row.model !== 'string' || row.model === '')
      report(`${place} has no model: set the model to its name at the provider`)
    else checkFacts(row, rowFields, place, report)
  }
}

type Given = Readonly<Record<string, unknown>>

function checkFacts(card: Given, fields: readonly string[], where: string, report: ReportProblem): void {
  known(card, fields, where, report)
  for (const field of ['name', 'host', 'source'])
    if (card[field] !== undefined && typeof card[field] !== 'string') report(`${where}.${field} is not a string`)
  for (const field of limits)
    if (card[field] !== undefined && !(Number.isInteger(card[field]) && (card[field] as number) > 0))
      report(`${where}.${field} is ${String(card[field])}: write a whole number of tokens greater than 0`)
  part(card, 'modalities', ['input', 'output'], where, report, (value, place) =>
    checkWords(value, modalities, place, report),
  )
  part(card, 'capabilities', [...flags, 'efforts'], where, report, (value, place, field) => {
    if (field === 'efforts') checkWords(value, efforts, place, report)
    else if (typeof value !== 'boolean') report(`${place} is ${String(value)}: write true or false`)
  })
  part(card, 'prices', ['currency', ...amounts], where, report, (value, place, field) => {
    if (field === 'currency') {
      if (typeof value !== 'string') report(`${place} is ${String(value)}: write a code such as 'USD'`)
    } else if (!(typeof value === 'number' && value >= 0 && Number.isFinite(value)))
      report(`${place} is ${String(value)}: write a number from 0, or leave it out if it is unknown`)
  })
}

function part(
  card: Given,
  name: string,
  fields: readonly string[],
  where: string,
  report: ReportProblem,
  check: (value: unknown, place: string, field: string) => void,
): void {
  const given = card[name]
  if (given === undefined) return
  const place = `${where}.${name}`
  if (!isObject(given)) {
    report(`${place} is not an object: write some of ${fields.join(', ')}`)
    return
  }
  known(given, fields, place, report)
  for (const field of fields) if (given[field] !== undefined) check(given[field], `${place}.${field}`, field)
}

function checkWords(value: unknown, words: readonly string[], place: string, report: ReportProblem): void {
  if (!Array.isArray(value) || !value.every((word) => words.includes(word)))
    report(`${place} is ${JSON.stringify(value)}: write a list of ${words.join(', ')}`)
}
