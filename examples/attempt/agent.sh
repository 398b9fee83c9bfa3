# Called like a coding agent, with the task as its first argument; its second attempt gets it right.
if [ "$BAKEOFF_ATTEMPT" = 2 ]; then
    sed 's/a - b/a + b/' calc.py > mended.py && mv mended.py calc.py
else
    echo '# perhaps like this' >> calc.py
fi
echo done
