import type { Info } from '../../info.ts'
import { groupsOf } from './endpoint-groups.ts'

export function Endpoints({ info }: { info: Info }) {
  return (
    <section class="section" aria-labelledby="endpoints">
      <header>
        <h2 id="endpoints">Endpoints</h2>
        <p>
          Each takes the token in any of the headers that the vendors’ clients use. Which models answer where depends on
          the token.
        </p>
      </header>
      <div class="groups">
        {groupsOf(info.endpoints).map(({ title, endpoints }) => (
          <div class="card group" key={title}>
            <h3>{title}</h3>
            <ul>
              {endpoints.map(({ method, path }) => (
                <li class="endpoint" key={`${method} ${path}`}>
                  <span class="method">{method}</span>
                  <Path path={path} />
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
    </section>
  )
}

/** Highlights the parameters of the path. */
const Path = ({ path }: { path: string }) => (
  <span class="path">
    {path.split(/(\{\w+\})/).map((part) => (part.startsWith('{') ? <span class="param">{part}</span> : part))}
  </span>
)
