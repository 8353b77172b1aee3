import type { ComponentType } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { cx } from '../../parts/cx.ts'
import { inMoney, inMs, whole } from '../../parts/figures.ts'
import { Failure } from '../call/failure.tsx'
import { type Figure, Figures } from '../call/figures.tsx'
import { foldPieces } from '../call/fold-response.ts'
import { LossNotice } from '../conversation/call-metrics.tsx'
import { InspectIcon } from '../icons.tsx'
import type { ResultProps } from './operation.ts'
import type { Run } from './run.ts'
import type { OpenTab } from './tabs.ts'

export interface RunViewProps {
  run: Run
  isNewest: boolean
  isInspected: boolean
  Result: ComponentType<ResultProps>
  onOpen: OpenTab
  onInspect: () => void
}

/** A call of a tab: its result or its failure, and its figures. */
export function RunView({ run, isNewest, isInspected, Result, onOpen, onInspect }: RunViewProps) {
  const { exchange, model, startedAt } = run
  const { error } = useMemo(() => foldPieces(exchange.pieces), [exchange.pieces])
  const running = exchange.outcome === 'running'
  const item = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isNewest && running) item.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <li class={cx('run', isInspected && 'inspected')} ref={item}>
      <article aria-label={`Result of ${model}`} aria-busy={running}>
        <p class="by">
          <strong>{model}</strong> · <time dateTime={new Date(startedAt).toISOString()}>{timeOf(startedAt)}</time>
        </p>
        <Result run={run} onOpen={onOpen} />
        {running ? (
          <p class="waiting">
            <span />
            <span />
            <span />
            <b class="out-of-sight">Waiting for the response</b>
          </p>
        ) : null}
        {error === undefined ? null : <Failure exchange={exchange} error={error} />}
        {exchange.outcome === 'stopped' ? <p class="aside">Stopped.</p> : null}
        {running ? null : (
          <footer>
            <LossNotice round={run} onInspect={onInspect} />
            <Figures figures={figuresOf(run, error !== undefined)} />
            <Button small look="quiet" label="Inspect this call" onClick={onInspect}>
              <InspectIcon />
              Inspect
            </Button>
          </footer>
        )}
      </article>
    </li>
  )
}

const timeOf = (at: number): string =>
  new Date(at).toLocaleString(undefined, { timeStyle: 'medium', dateStyle: 'short' })

/** The gateway's counts win over those of the response: they include estimates. */
function figuresOf({ exchange, facts }: Run, hasFailed: boolean): readonly Figure[] {
  const usage = facts?.usage ?? foldPieces(exchange.pieces).usage
  const { images, seconds, characters, searches, fetches, executions } = facts?.units ?? {}
  const basis = facts?.basis === undefined || facts.basis === 'reported' ? '' : ` (${facts.basis})`
  const count = (value: number | undefined, unit = ''): string | undefined =>
    value === undefined ? undefined : `${whole.format(value)}${unit}`
  return [
    ['Duration', exchange.endedAt === undefined ? undefined : inMs(exchange.endedAt)],
    ['Input', count(usage?.input, ` tokens${basis}`)],
    ['Output', usage?.output ? count(usage.output, ` tokens${basis}`) : undefined],
    ['Images', count(images)],
    ['Audio', seconds === undefined ? undefined : `${seconds.toFixed(1)} s`],
    ['Characters', count(characters)],
    ['Searches', count(searches)],
    ['Fetched pages', count(fetches)],
    ['Code executions', count(executions)],
    ['Cost', facts?.cost === undefined ? undefined : inMoney(facts.cost.amount, facts.cost.currency)],
    // A failure shows the id of its request itself.
    ['Request', hasFailed ? undefined : exchange.responseHeaders?.['modelgate-request-id']],
  ]
}
