import type { Fault, Script } from '../contract/script.ts'
import { type Directive, directiveNumber } from './directives.ts'

const faultFactories: Readonly<Record<string, (directive: Directive) => Fault>> = {
  'refuse-connection': () => ({ type: 'refuse' }),
  reset: (directive) => ({ type: 'reset', ...after(directive) }),
  stall: (directive) => ({ type: 'stall', ...after(directive) }),
  delay: ({ value }) => ({ type: 'delay', ms: directiveNumber(value, 1000) }),
  slow: ({ value }) => ({ type: 'slow', ms: directiveNumber(value, 200) }),
  cut: (directive) => ({ type: 'cut', after: after(directive).after ?? 4 }),
  'cut-event': (directive) => ({ type: 'cut-event', after: after(directive).after ?? 4 }),
  garbage: (directive) => ({ type: 'garbage', after: after(directive).after ?? 2 }),
  'error-event': (directive) => ({
    type: 'error-event',
    after: after(directive).after ?? 3,
    ...(directive.value === '' ? {} : { error: directive.value }),
  }),
  'content-length': ({ value }) => ({ type: 'content-length', by: directiveNumber(value, 100) }),
  'endless-line': (directive) => ({
    type: 'endless-line',
    ...after(directive),
    ...(directive.options.bytes === undefined ? {} : { bytes: directiveNumber(directive.options.bytes, 1_000_000) }),
  }),
  html: () => ({ type: 'html' }),
  empty: () => ({ type: 'empty' }),
}

const after = (directive: Directive): { after?: number } =>
  directive.options.after === undefined ? {} : { after: directiveNumber(directive.options.after, 0) }

/** Returns the faults that directives request. */
const faultsOf = (directives: readonly Directive[]): Fault[] =>
  directives.flatMap((directive) => faultFactories[directive.name]?.(directive) ?? [])

/** Returns the delivery settings of directives, without the answer's content. */
export function directiveSettings(directives: readonly Directive[]): Script {
  const status = directives.find(({ name }) => name === 'status')
  const finish = directives.find(({ name }) => name === 'finish')
  const fault = faultsOf(directives)
  const retryAfter = status?.options['retry-after']
  return {
    ...(finish ? { finish: finish.value } : {}),
    ...(status ? { status: directiveNumber(status.value, 500) } : {}),
    ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
    ...(fault.length > 0 ? { fault } : {}),
  }
}
