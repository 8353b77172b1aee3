import { useMemo } from 'preact/hooks'
import { Comparison } from '../../compare/comparison.tsx'
import { mergeLosses } from '../../compare/loss-list.tsx'
import { countLosses, type LossCounts, type ToldLoss } from '../../compare/losses.ts'
import type { ApiRequest, Json } from '../formats/format.ts'
import type { ExplainedTarget } from './explain.ts'

export interface RequestComparisonProps {
  request: ApiRequest
  target: ExplainedTarget
  /** Losses that only the response reported, in addition to the target's. */
  reported?: readonly ToldLoss[]
  /** Numbers of losses of the call. Default: the target's. */
  counts?: LossCounts | undefined
  /** True: the target responded, so that the absence of losses may be stated. Default: false. */
  delivered?: boolean
}

/** Shows the client's request beside the upstream request, then the losses between them. */
export function RequestComparison({
  request,
  target: { losses, request: sent },
  reported = [],
  counts,
  delivered = false,
}: RequestComparisonProps) {
  const requestLosses = useMemo(() => losses.filter(({ side }) => side !== 'answer'), [losses])
  return (
    <Comparison
      from={{
        id: 'client',
        title: 'Client request',
        path: request.path,
        body: request.body,
        what: 'your request',
      }}
      to={
        sent === undefined
          ? undefined
          : {
              id: 'upstream',
              title: 'Upstream request',
              path: sent.path,
              body: sent.body as Json,
              what: 'the upstream request',
              below: (
                <details class="inspect-more">
                  <summary>Headers</summary>
                  <Headers headers={sent.headers} />
                </details>
              ),
            }
      }
      losses={requestLosses}
      list={{ losses: mergeLosses(losses, reported), counts: counts ?? countLosses(losses), delivered }}
    />
  )
}

/** Headers, one per line. */
export const Headers = ({ headers }: { headers: Readonly<Record<string, string>> }) => (
  <dl class="headers">
    {Object.entries(headers).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
