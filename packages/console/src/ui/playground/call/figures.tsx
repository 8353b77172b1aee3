/** A figure with its name. Without a value it is not shown. */
export type Figure = readonly [name: string, value: string | undefined]

/** Shows the known figures in one line that wraps. */
export function Figures({ figures }: { figures: readonly Figure[] }) {
  const known = figures.filter((figure): figure is readonly [string, string] => figure[1] !== undefined)
  if (known.length === 0) return null
  return (
    <dl class="figures">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
