import type { ExchangeContext } from '../codec.ts'
import type { ModelRequest } from '../ir.ts'
import { createReport } from '../loss-report.ts'

const least: ModelRequest = {
  model: 'm',
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }],
  stream: false,
}

export const contextOf = (upstream?: 'converse') => {
  let ids = 0
  return {
    report: createReport(),
    newId: (prefix: string) => `${prefix}${++ids}`,
    now: () => 1,
    target: { model: 'anthropic.claude-sonnet-4-5', quirks: {} },
    ...(upstream === undefined ? {} : { upstream }),
  }
}
export const exchange = (more: Partial<ExchangeContext> = {}) => ({ ...contextOf(), request: least, ...more })
