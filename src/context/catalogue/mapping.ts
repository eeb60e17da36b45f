/** Model names that stand for others: the catalogue is asked for the model a name leads to. */

/** Longer chains are a mistake in the configuration. */
const MOST_MAPPINGS = 10;

/** `path`: the names in the order they were followed, the first being the one asked for. */
export type MappedModel =
  | { readonly ok: true; readonly model: string }
  | {
      readonly ok: false;
      readonly code: 'model_mapping_cycle' | 'model_mapping_too_deep';
      readonly path: readonly string[];
      readonly message: string;
    };

export function mappedModel(model: string, mapping: Readonly<Record<string, string>>): MappedModel {
  const path = [model];
  let name = model;
  for (;;) {
    const next = Object.hasOwn(mapping, name) ? mapping[name] : undefined;
    if (next === undefined) return { ok: true, model: name };
    const again = path.includes(next);
    path.push(next);
    const shown = path.join(' → ');
    if (again)
      return {
        ok: false,
        code: 'model_mapping_cycle',
        path,
        message: `Model mappings form a cycle: ${shown}.`,
      };
    if (path.length - 1 > MOST_MAPPINGS) {
      const message = `More than ${MOST_MAPPINGS} model mappings follow each other: ${shown}.`;
      return { ok: false, code: 'model_mapping_too_deep', path, message };
    }
    name = next;
  }
}

/** The name the catalogue is asked for. The configuration refuses mappings that lead nowhere, so such a name stays itself. */
export function catalogueName(model: string, mapping: Readonly<Record<string, string>> = {}): string {
  const mapped = mappedModel(model, mapping);
  return mapped.ok ? mapped.model : model;
}
