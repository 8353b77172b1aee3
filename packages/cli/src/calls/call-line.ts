import type { CallSummary } from '@modelgate/console'

const whole = new Intl.NumberFormat('en')

/** Replaces control characters in names: a terminal could execute them as escape sequences. */
const plain = (text: string): string => text.replace(/\p{Cc}/gu, '?')

/** Returns a call as one line: `23:58:24  200  laptop  careful → openai/gpt-5  3 attempts  1.49 s  412 → 96 tokens  USD 0.00184`. */
export function callLine(call: CallSummary): string {
  const { usage, cost, caller, error } = call
  const parts = [
    new Date(call.startedAt).toTimeString().slice(0, 8),
    String(call.status),
    caller === undefined ? 'anonymous' : (caller.name ?? caller.id),
    whatOf(call),
    error?.kind,
    call.attemptCount > 1 ? `${call.attemptCount} attempts` : undefined,
    durationText(call.durationMs),
    usage === undefined ? undefined : `${whole.format(usage.input)} → ${whole.format(usage.output)} tokens`,
    cost === undefined ? undefined : `${cost.currency} ${cost.amount}`,
    call.lossCount === 0 ? undefined : call.lossCount === 1 ? '1 loss' : `${call.lossCount} losses`,
    call.requestId,
  ]
  return plain(parts.filter((part) => part !== undefined).join('  '))
}

function whatOf({ model, method, path, upstream, upstreamModel }: CallSummary): string {
  if (model === undefined) return `${method} ${path}`
  if (upstream === undefined) return model
  return `${model} → ${upstreamModel === undefined || upstreamModel === model ? upstream : `${upstream}/${upstreamModel}`}`
}

const durationText = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`)
