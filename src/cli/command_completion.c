/* SPDX-License-Identifier: Apache-2.0 */
/* topofit completion - tab completion for bash and zsh. */
#include "command.h"
#include "topofit/class.h"
#include "topofit/mem.h"

#include <stdio.h>
#include <string.h>

static const char help[] = "Print a tab completion script.\n"
                           "\n"
                           "usage: topofit completion bash|zsh\n"
                           "\n"
                           "Examples:\n"
                           "  source <(topofit completion bash)\n"
                           "  topofit completion zsh > \"${fpath[1]}/_topofit\"\n";

/* The options that a help line begins with: "  -f, --file FILE  the pod" has -f and --file. */
static void print_line_options(const char *line)
{
    const char *at = line + 2;

    while (*at == '-') {
        size_t length = strspn(at, "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

        printf(" %.*s", (int)length, at);
        at += length;
        at += strspn(at, ", ");
    }
}

/* The options of a command, taken from its help text so that they are written once. */
static void print_options(const struct command *command)
{
    for (const char *line = command->help; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "  -", 3) == 0)
            print_line_options(line);
    }
}

static void print_commands(void)
{
    printf("        words=\"--help --version help");
    for (size_t i = 0; cli_commands()[i] != NULL; i++)
        printf(" %s", cli_commands()[i]->name);
    puts("\"");
}

static void print_classes(void)
{
    AUTO(class_table_clear) struct class_table classes;

    classes_builtin(&classes);
    for (size_t i = 0; i < classes.count; i++)
        printf(" %s", classes.items[i].name);
}

static void print_script(void)
{
    puts("_topofit() {\n"
         "    local words= begun= current=${COMP_WORDS[COMP_CWORD]} "
         "before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    COMPREPLY=()\n"
         "    case $before in\n"
         "    --config | --cluster | --kubeconfig | -f | --file | -w | --workload | -n | --nodes)\n"
         "        return ;;\n"
         "    esac\n"
         "    if [ \"$before\" = -o ] || [ \"$before\" = --output ]; then\n"
         "        words=\"text json\"\n"
         "        [ \"${COMP_WORDS[1]}\" != simulate ] || words=\"text json csv\"\n"
         "        [ \"${COMP_WORDS[1]}\" != classes ] || words=\"table yaml markdown\"\n"
         "    elif [ \"$before\" = --policy ]; then\n"
         "        words=\"pack spread topology-first\"\n"
         "    elif [ \"$before\" = --only ]; then\n"
         "        words=\"topofit first-fit best-effort\"\n"
         "        [[ $current != *,* ]] || begun=${current%,*},\n"
         "    elif [ \"$COMP_CWORD\" -eq 1 ] || [ \"$before\" = help ]; then");
    print_commands();
    puts("    else\n        case ${COMP_WORDS[1]} in");
    for (size_t i = 0; cli_commands()[i] != NULL; i++) {
        const struct command *command = cli_commands()[i];

        printf("        %s) words=\"%s", command->name, command->words ? command->words : "");
        if (command == &command_classes)
            print_classes();
        print_options(command);
        puts("\" ;;");
    }
    puts("        esac\n    fi\n"
         "    COMPREPLY=($(compgen -P \"$begun\" -W \"$words\" -- \"${current##*,}\"))\n"
         "}\n"
         "complete -o default -F _topofit topofit");
}

static int run(const struct command *command, int argc, char **argv)
{
    static const char *const shells[] = {"bash", "zsh", NULL};
    struct error err = {0};
    int shell;

    if (argc != 2)
        return command_complain(command, "bash or zsh is expected");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return command_help(command);
    shell = command_find_word(shells, argv[1], NULL, &err);
    if (shell < 0)
        return command_complain(command, "%s", err.text);
    if (shell == 1)
        puts("#compdef topofit\nautoload -U +X bashcompinit && bashcompinit");
    print_script();
    return EXIT_YES;
}

const struct command command_completion = {.name = "completion",
                                           .summary = "print a tab completion script",
                                           .help = help,
                                           .words = "bash zsh",
                                           .run = run};
