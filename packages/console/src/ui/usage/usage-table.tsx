import { useState } from 'preact/hooks'
import type { Sums } from '../admin/contract.ts'
import { Button } from '../parts/button.tsx'
import { inMoney, whole } from '../parts/figures.ts'
import { type Grouping, groupings, type UsageGroup } from './usage-report.ts'

/** Rows to begin with: a year of many models is thousands. */
const firstRows = 100

export interface UsageTableProps {
  groups: readonly UsageGroup[]
  totals: Sums
  by: readonly Grouping[]
  onBy: (by: readonly Grouping[]) => void
  currency: string | undefined
}

/** Shows usage grouped by any of token, model and day, with totals. */
export function UsageTable({ groups, totals, by, onBy, currency }: UsageTableProps) {
  const [showsAll, setShowsAll] = useState(false)
  const shown = showsAll ? groups : groups.slice(0, firstRows)
  const chosen = groupings.filter(({ id }) => by.includes(id))
  const hasFailed = totals.failed !== undefined
  const figures = (sums: Sums) => (
    <>
      <td>{whole.format(sums.calls)}</td>
      {hasFailed ? <td>{whole.format(sums.failed ?? 0)}</td> : null}
      <td>{whole.format(sums.inputTokens)}</td>
      <td>{whole.format(sums.cachedTokens ?? 0)}</td>
      <td>{whole.format(sums.outputTokens)}</td>
      {currency === undefined ? null : (
        <>
          <td>{inMoney(sums.cost, currency)}</td>
          <td>{whole.format(sums.unpriced)}</td>
        </>
      )}
    </>
  )
  return (
    <section class="card admin-part" aria-labelledby="by-group">
      <div class="admin-part-head">
        <h2 id="by-group">Totals and groups</h2>
        <fieldset class="group-by">
          <legend>Group by</legend>
          {groupings.map(({ id, title }) => (
            <label key={id}>
              <input
                type="checkbox"
                checked={by.includes(id)}
                onChange={() => onBy(by.includes(id) ? by.filter((field) => field !== id) : [...by, id])}
              />
              {title}
            </label>
          ))}
        </fieldset>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls and must be reachable by keyboard */}
      <section class="table-scroll" aria-label="Usage table" tabIndex={0}>
        <table class="admin-table">
          <thead>
            <tr>
              {chosen.map(({ id, title }) => (
                <th key={id} scope="col" class="text">
                  {title}
                </th>
              ))}
              {chosen.length === 0 ? (
                <th scope="col" class="text">
                  All
                </th>
              ) : null}
              <th scope="col">Calls</th>
              {hasFailed ? <th scope="col">Failed</th> : null}
              <th scope="col">Input tokens</th>
              <th scope="col">Cached</th>
              <th scope="col">Output tokens</th>
              {currency === undefined ? null : (
                <>
                  <th scope="col">Cost</th>
                  <th scope="col">Unpriced</th>
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {chosen.length === 0
              ? null
              : shown.map((group) => (
                  <tr key={group.key}>
                    {chosen.map(({ id }) => (
                      <td key={id} class="text">
                        {group[id]}
                      </td>
                    ))}
                    {figures(group)}
                  </tr>
                ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row" class="text" colSpan={Math.max(1, chosen.length)}>
                Total
              </th>
              {figures(totals)}
            </tr>
          </tfoot>
        </table>
      </section>
      {shown.length < groups.length ? (
        <Button small onClick={() => setShowsAll(true)}>
          Show all {whole.format(groups.length)} rows
        </Button>
      ) : null}
    </section>
  )
}
