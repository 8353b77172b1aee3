import { useState } from 'preact/hooks'
import { inMoney, whole } from '../parts/figures.ts'
import { TabPanel, Tabs } from '../parts/tabs.tsx'
import type { Sums } from './contract.ts'

export type DaySums = Sums & { readonly day: string }

const height = 100
/** Width of a day, and of its bar. */
const step = 10
const barWidth = 8

export interface DayChartProps {
  /** All days, in order, also those without calls. */
  days: readonly DaySums[]
  currency: string | undefined
}

/** Shows calls, tokens or cost per day as bars. */
export function DayChart({ days, currency }: DayChartProps) {
  const [chosen, setChosen] = useState('calls')
  const measures = [
    { id: 'calls', title: 'Calls', of: ({ calls }: Sums) => calls, text: (amount: number) => whole.format(amount) },
    {
      id: 'tokens',
      title: 'Tokens',
      of: ({ inputTokens, outputTokens }: Sums) => inputTokens + outputTokens,
      text: (amount: number) => whole.format(amount),
    },
    ...(currency === undefined
      ? []
      : [
          {
            id: 'cost',
            title: 'Cost',
            of: ({ cost }: Sums) => cost,
            text: (amount: number) => inMoney(amount, currency),
          },
        ]),
  ]
  const measure = measures.find(({ id }) => id === chosen) ?? measures[0]
  const [first] = days
  const last = days.at(-1)
  if (measure === undefined || first === undefined || last === undefined) return null
  const most = Math.max(...days.map(measure.of))
  const highest = days.find((day) => measure.of(day) === most)
  const summary = `${measure.title} per day from ${first.day} to ${last.day}, at most ${measure.text(most)}${most === 0 ? '' : ` on ${highest?.day}`}`
  return (
    <figure class="day-chart">
      <Tabs name="measure" label="Shown per day" tabs={measures} chosen={measure.id} onChoose={setChosen} />
      <TabPanel name="measure" chosen={measure.id}>
        <svg viewBox={`0 0 ${days.length * step} ${height}`} preserveAspectRatio="none" role="img" aria-label={summary}>
          {days.map((day, index) => {
            const share = most === 0 ? 0 : measure.of(day) / most
            return (
              <g key={day.day}>
                <title>{`${day.day}: ${measure.text(measure.of(day))}`}</title>
                <rect class="slot" x={index * step} width={step} height={height} />
                <rect
                  class="value"
                  x={index * step + (step - barWidth) / 2}
                  width={barWidth}
                  y={height - heightOf(share)}
                  height={heightOf(share)}
                />
              </g>
            )
          })}
        </svg>
      </TabPanel>
      <figcaption>
        <span>{first.day}</span>
        <span class="highest">
          highest: {measure.text(most)}
          {most === 0 ? '' : ` on ${highest?.day}`}
        </span>
        <span>{last.day}</span>
      </figcaption>
    </figure>
  )
}

/** The lowest bar is still visible. */
const heightOf = (share: number): number => (share === 0 ? 0 : Math.max(2, Math.round(share * height)))
