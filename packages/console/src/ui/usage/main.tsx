import { render } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { AdminFrame } from '../admin/admin-frame.tsx'
import type { ApiError } from '../admin/api.ts'
import { DayChart } from '../admin/day-chart.tsx'
import { addUp, rangeOf, sumsByDay } from '../admin/days.ts'
import { useAdminToken } from '../admin/use-admin-token.ts'
import { useFetched } from '../admin/use-fetched.ts'
import { Button } from '../parts/button.tsx'
import { Notice } from '../parts/notice.tsx'
import { useSeenOptions } from './seen-options.ts'
import { TokenBudgets } from './token-budgets.tsx'
import { UsageFilters } from './usage-filters.tsx'
import {
  fetchUsage,
  fetchUsageCsv,
  type Grouping,
  groupRows,
  type UsageQuery,
  type UsageReport,
} from './usage-report.ts'
import { UsageTable } from './usage-table.tsx'

/** The page of tokens links to the usage of one: `#for=tok_…`. */
const linkedToken = (): string => new URLSearchParams(location.hash.slice(1)).get('for') ?? ''

function Usage() {
  const [token, changeToken] = useAdminToken()
  const [query, setQuery] = useState<UsageQuery>(() => ({
    ...rangeOf('30'),
    token: linkedToken(),
    model: '',
  }))
  const [by, setBy] = useState<readonly Grouping[]>(['token', 'model'])
  const [fetched, refresh] = useFetched(
    useCallback((signal: AbortSignal) => fetchUsage(token, query, signal), [token, query]),
  )
  const options = useSeenOptions(fetched.value)
  const { value: report, state, message } = fetched
  return (
    <AdminFrame
      current="usage"
      title="Usage"
      token={token}
      isUnauthorized={state === 'unauthorized'}
      onToken={changeToken}
      actions={
        <>
          <Button small onClick={refresh} disabled={state === 'loading'}>
            {state === 'loading' ? 'Loading …' : 'Refresh'}
          </Button>
          <ExportButton token={token} query={query} />
        </>
      }
    >
      <UsageFilters query={query} options={options} onQuery={setQuery} />
      {state === 'failed' ? <Notice kind="bad">{message}</Notice> : null}
      {report === undefined || state === 'failed' ? null : (
        <Report report={report} by={by} onBy={setBy} token={query.token} />
      )}
    </AdminFrame>
  )
}

interface ReportProps {
  report: UsageReport
  by: readonly Grouping[]
  onBy: (by: readonly Grouping[]) => void
  /** Id of the token that the report is filtered by; empty for all. */
  token: string
}

function Report({ report, by, onBy, token }: ReportProps) {
  const { rows, currency, source } = report
  const totals = addUp(rows)
  const tokens = token === '' ? report.tokens : report.tokens.filter(({ id }) => id === token)
  return (
    <>
      {report.truncated ? (
        <Notice kind="warn">The gateway left out a part of the usage. Choose fewer days, a token or a model.</Notice>
      ) : null}
      {rows.length === 0 ? (
        <Notice title="No calls in these days">
          {source === 'counters' ? <p>Calls without an issued token are counted only with a ledger.</p> : null}
        </Notice>
      ) : (
        <>
          <section class="card admin-part" aria-labelledby="per-day">
            <h2 id="per-day">Per day</h2>
            <DayChart days={sumsByDay(rows, report)} currency={currency} />
          </section>
          <UsageTable groups={groupRows(rows, by)} totals={totals} by={by} onBy={onBy} currency={currency} />
          <ul class="admin-hints">
            <li>Days are in UTC.</li>
            {currency === undefined ? <li>Prices are not configured, so cost is unknown.</li> : null}
            {currency !== undefined && totals.unpriced > 0 ? (
              <li>Calls of models without a price are counted as “unpriced”. They are not part of the cost.</li>
            ) : null}
            {source === 'counters' ? <li>Calls without an issued token are counted only with a ledger.</li> : null}
          </ul>
        </>
      )}
      <TokenBudgets tokens={tokens} currency={currency} />
    </>
  )
}

function ExportButton({ token, query }: { token: string; query: UsageQuery }) {
  const [failure, setFailure] = useState<string>()
  useEffect(() => setFailure(undefined), [token, query])
  const save = (): void => {
    setFailure(undefined)
    fetchUsageCsv(token, query).then(
      (csv) => download(csv, `usage-${query.from}-${query.to}.csv`),
      (error: ApiError) => setFailure(error.message),
    )
  }
  return (
    <>
      <Button small onClick={save}>
        Export CSV
      </Button>
      {failure === undefined ? null : (
        <span class="wrong" role="alert">
          {failure}
        </span>
      )}
    </>
  )
}

/** A link cannot send the credential, so the page fetches the file and hands it to the browser. */
function download(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

const app = document.getElementById('app')
if (app !== null) render(<Usage />, app)
